import type { Range } from './range.ts'
import { thresholds } from './thresholds.ts'

// A recording cut into segments: they cover all of it, in order, without overlap. Where the recording marks its own
// beginnings (an episode, a change of mode), there; else where everything is silent; else in windows.

export type CutReason = 'start' | 'marker' | 'silence' | 'window'

export type Cut = { start: number; end: number; why: CutReason; label: string }

type Marker = { t: number; label: string }

export function cutSegments(
  range: Range,
  markers: Marker[],
  silences: Range[],
  windowNs: number,
  channelCount = 1,
): Cut[] {
  const { minNs, max: most, maxCells } = thresholds.segment
  const max = Math.max(1, Math.min(most, Math.floor(maxCells / Math.max(1, channelCount))))
  const inside = markers.filter(({ t }) => t > range.start + minNs && t < range.end - minNs)
  const cuts =
    inside.length > 0
      ? atMarkers(range, markers)
      : silences.length > 0
        ? atSilences(range, silences)
        : [whole(range)]
  const windowed = cuts.flatMap((cut) => (inside.length > 0 ? [cut] : inWindows(cut, windowNs)))
  // A hostile or endless recording is cut more coarsely rather than into more pieces.
  return windowed.length <= max ? windowed : inWindows(whole(range), (range.end - range.start) / max)
}

function whole({ start, end }: Range): Cut {
  return { start, end, why: 'start', label: '' }
}

function atMarkers(range: Range, markers: Marker[]): Cut[] {
  const sorted = [...markers].sort((a, b) => a.t - b.t)
  const cuts: Cut[] = [whole(range)]
  for (const { t, label } of sorted) {
    const current = cuts.at(-1)
    if (!current) break
    // A marker at the very beginning names the first segment instead of cutting nothing off.
    if (t - current.start < thresholds.segment.minNs) {
      if (t >= current.start && current.label === '') current.label = label
      continue
    }
    if (range.end - t < thresholds.segment.minNs) continue
    current.end = t
    cuts.push({ start: t, end: range.end, why: 'marker', label })
  }
  return cuts
}

/** The silence belongs to the segment before it: the next begins with its first message. */
function atSilences(range: Range, silences: Range[]): Cut[] {
  const cuts: Cut[] = [whole(range)]
  for (const { end } of [...silences].sort((a, b) => a.start - b.start)) {
    const current = cuts.at(-1)
    if (
      !current ||
      end - current.start < thresholds.segment.minNs ||
      range.end - end < thresholds.segment.minNs
    )
      continue
    current.end = end
    cuts.push({ start: end, end: range.end, why: 'silence', label: '' })
  }
  return cuts
}

/** Windows of the length asked for; the last one is what is left. */
function inWindows(cut: Cut, windowNs: number): Cut[] {
  const count = Math.max(1, Math.ceil((cut.end - cut.start) / windowNs - 1e-9))
  const width = Math.min(windowNs, cut.end - cut.start)
  return Array.from({ length: count }, (_, index) => ({
    start: cut.start + index * width,
    end: index === count - 1 ? cut.end : cut.start + (index + 1) * width,
    why: index === 0 ? cut.why : 'window',
    label: cut.label,
  }))
}
