import type { KeptTimes } from './kept-times.ts'
import type { Range } from './range.ts'
import { thresholds } from './thresholds.ts'

/** How many messages each channel has in each of so many equal bins over the recording. */
export type Timeline = { binNs: number; bins: Uint32Array[] }

export function makeTimeline(kept: KeptTimes, channelCount: number, { start, end }: Range): Timeline {
  const spanNs = end - start
  const most = Math.floor(thresholds.timelineCells / Math.max(1, channelCount))
  const count = spanNs > 0 ? Math.max(1, Math.min(thresholds.timelineBins, most)) : 1
  const binNs = spanNs > 0 ? spanNs / count : 0
  const bins = Array.from({ length: channelCount }, (_, channel) => {
    const { times, weight } = kept.of(channel)
    const row = new Uint32Array(count)
    for (const t of times) {
      if (t < start || t > end) continue
      const bin = binNs > 0 ? Math.min(count - 1, Math.floor((t - start) / binNs)) : 0
      row[bin] = (row[bin] ?? 0) + weight
    }
    return row
  })
  return { binNs, bins }
}
