import type { KeptTimes } from './kept-times.ts'
import type { Range } from './range.ts'

/** Stretches in which no channel has a message, at least so long. Two passes over a grid fine enough to see them. */
export function commonSilences(kept: KeptTimes, channels: number[], range: Range, minNs: number): Range[] {
  const cellNs = Math.max(minNs / 8, (range.end - range.start) / 4_000_000)
  const cells = Math.floor((range.end - range.start) / cellNs) + 1
  const first = new Float64Array(cells).fill(Number.NaN)
  const last = new Float64Array(cells).fill(Number.NaN)
  for (const channel of channels) {
    for (const t of kept.of(channel).times) {
      if (t < range.start || t > range.end) continue
      const cell = Math.floor((t - range.start) / cellNs)
      if (!((first[cell] ?? t) <= t)) first[cell] = t
      if (!((last[cell] ?? t) >= t)) last[cell] = t
    }
  }
  const silences: Range[] = []
  let previous = range.start
  for (let cell = 0; cell < cells; cell++) {
    const begin = first[cell] ?? Number.NaN
    if (Number.isNaN(begin)) continue
    if (begin - previous >= minNs) silences.push({ start: previous, end: begin })
    previous = last[cell] ?? begin
  }
  return silences
}
