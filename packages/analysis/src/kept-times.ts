// The times of all messages, kept for what can only be seen when all are known: bins, segments, common silences.
// When there are too many, every second one of each channel is given up, again and again; each that is left stands
// for more. So the memory has a limit and the shape stays.

export type KeptTimes = {
  add(channel: number, t: number): void
  /** Times of a channel in the order of the file; each stands for `weight` messages. */
  of(channel: number): { times: Float64Array; weight: number }
}

const MAX_KEPT = 8_000_000
const FIRST_CAPACITY = 64

type Kept = { times: Float64Array; length: number; skip: number }

export function openKeptTimes(maxKept = MAX_KEPT): KeptTimes {
  const channels: Kept[] = []
  let weight = 1
  let total = 0

  function thin(): void {
    weight *= 2
    total = 0
    for (const kept of channels) {
      let length = 0
      for (let index = 0; index < kept.length; index += 2) kept.times[length++] = kept.times[index] ?? 0
      kept.length = length
      total += length
    }
  }

  return {
    add(channel, t) {
      channels[channel] ??= { times: new Float64Array(FIRST_CAPACITY), length: 0, skip: 0 }
      const kept = channels[channel]
      if (kept.skip > 0) {
        kept.skip--
        return
      }
      kept.skip = weight - 1
      if (kept.length === kept.times.length) {
        const larger = new Float64Array(kept.length * 2)
        larger.set(kept.times)
        kept.times = larger
      }
      kept.times[kept.length++] = t
      total++
      if (total >= maxKept) thin()
    },
    of(channel) {
      const kept = channels[channel]
      return { times: kept ? kept.times.subarray(0, kept.length) : new Float64Array(), weight }
    },
  }
}
