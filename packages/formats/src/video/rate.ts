import type { Finding } from '../recording.ts'

// No container of the MP4 family states a frame rate: it states how long each frame is shown. Where nearly all are
// shown equally long, that is the rate.

export type Durations = Map<number, number>

/** More different durations than this are no rate, whatever they are. */
const MAX_DISTINCT = 4096
const NEARLY = 0.2
const NEARLY_ALL = 0.9

export function addDuration(durations: Durations, ticks: number, frames: number) {
  const known = durations.get(ticks)
  if (known !== undefined || durations.size <= MAX_DISTINCT) durations.set(ticks, (known ?? 0) + frames)
}

/** Undefined where frames are shown for differing times, by the intention of whoever wrote the file. */
export function rateOf(durations: Durations, timescale: number): number | undefined {
  if (durations.size > MAX_DISTINCT) return undefined
  const sorted = [...durations].sort(([a], [b]) => a - b)
  const total = frames(sorted)
  const median = medianOf(sorted, total)
  // Clocks in milliseconds show 30 frames a second as 33, 33, 34: the mean of those is meant.
  const near = sorted.filter(([ticks]) => Math.abs(ticks - median) <= median * NEARLY)
  if (median === 0 || timescale === 0 || frames(near) < total * NEARLY_ALL) return undefined
  return (timescale * frames(near)) / near.reduce((sum, [ticks, count]) => sum + ticks * count, 0)
}

function medianOf(sorted: [number, number][], total: number): number {
  let seen = 0
  for (const [ticks, count] of sorted) {
    seen += count
    if (seen * 2 >= total) return ticks
  }
  return 0
}

function frames(durations: [number, number][]): number {
  return durations.reduce((sum, [, count]) => sum + count, 0)
}

const TOLERATED_FRAMES = 1
const TOLERATED_SHARE = 0.01

export function frameMismatch(
  found: number,
  durationS: number,
  rateHz: number | undefined,
  { channel, topic, unit }: { channel: number; topic: string; unit: string },
): Finding | undefined {
  if (rateHz === undefined || !(durationS > 0)) return undefined
  const expected = Math.round(durationS * rateHz)
  const difference = Math.abs(found - expected)
  if (difference <= Math.max(TOLERATED_FRAMES, expected * TOLERATED_SHARE)) return undefined
  return {
    code: 'video_frame_mismatch',
    detail:
      `${topic} has ${found} frames in ${unit}, but ${durationS.toFixed(3)} s at ${rateHz.toFixed(3)} Hz, as the ` +
      `file states them, are ${expected}; ${difference} frames ${found < expected ? 'are missing' : 'are too many'}`,
    channel,
    count: difference,
    value: found,
    threshold: expected,
  }
}
