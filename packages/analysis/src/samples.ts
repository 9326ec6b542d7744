import type { ChannelKind } from '@tapedeck/contract/kinds'

// Some messages of a channel, spread evenly over the recording: when there are too many, every second one is given up,
// and from then on only every second is taken. All channels share one budget of bytes.

export type Sample = { t: number; payload: Uint8Array }

export type SampleBudget = { bytes: number }

export type Samples = { offer(t: number, payload: Uint8Array): void; kept(): Sample[] }

const MAX_ALL_BYTES = 96 << 20
const MAX_CHANNEL_BYTES = 12 << 20
const MAX_SAMPLE_BYTES = 4 << 20
const MAX_SAMPLES = 512
/** Each has to be unpacked. */
const MAX_PICTURES = 24

export function openBudget(): SampleBudget {
  return { bytes: MAX_ALL_BYTES }
}

export function openSamples(kind: ChannelKind, budget: SampleBudget): Samples {
  const most = kind === 'camera' ? MAX_PICTURES : MAX_SAMPLES
  let samples: Sample[] = []
  let [bytes, every, offered] = [0, 1, 0]

  function thin(): void {
    every *= 2
    samples = samples.filter((_, index) => index % 2 === 0)
    const left = samples.reduce((sum, { payload }) => sum + payload.length, 0)
    budget.bytes += bytes - left
    bytes = left
  }

  return {
    offer(t, payload) {
      if (offered++ % every !== 0 || payload.length > MAX_SAMPLE_BYTES || payload.length > budget.bytes)
        return
      samples.push({ t, payload: payload.slice() })
      bytes += payload.length
      budget.bytes -= payload.length
      if (samples.length >= most || bytes > MAX_CHANNEL_BYTES) thin()
    },
    kept: () => samples,
  }
}
