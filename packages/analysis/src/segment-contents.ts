import type { AnalysedSegment } from './analysis.ts'
import type { Judged } from './channels.ts'
import type { FoundIssue } from './issue.ts'
import type { KeptTimes } from './kept-times.ts'
import { at } from './nanoseconds.ts'
import type { Range } from './range.ts'
import type { Cut } from './segments.ts'
import type { Timeline } from './timeline.ts'

/** What lies in each segment: channels with counts and rates, issues, and how much of it is active. */
export function describeSegments(
  cuts: Cut[],
  kept: KeptTimes,
  channels: Judged[],
  issues: FoundIssue[],
  timeline: Timeline,
  range: Range,
  originNs: bigint,
): AnalysedSegment[] {
  const counts = countMessages(cuts, kept, channels, range)
  const active = activeBins(timeline)
  return cuts.map((cut, index) => {
    const seconds = (cut.end - cut.start) / 1e9
    const inside = channels
      .map(({ name, index: channel }) => ({ name, count: counts[index]?.[channel] ?? 0 }))
      .filter(({ count }) => count > 0)
    return {
      index,
      startNs: at(originNs, cut.start),
      endNs: at(originNs, cut.end),
      why: cut.why,
      label: cut.label,
      channels: inside.map(({ name, count }) => ({ name, count, rateHz: seconds > 0 ? count / seconds : 0 })),
      issues: issuesIn(cut, issues, index === cuts.length - 1),
      messages: inside.reduce((sum, { count }) => sum + count, 0),
      activity: activityIn(cut, active, timeline.binNs, range),
    }
  })
}

function countMessages(cuts: Cut[], kept: KeptTimes, channels: Judged[], range: Range): Float64Array[] {
  const counts = cuts.map(() => new Float64Array(channels.length))
  for (const { index } of channels) {
    const { times, weight } = kept.of(index)
    for (const t of times) {
      if (t < range.start || t > range.end) continue
      const segment = counts[segmentAt(cuts, t)]
      if (segment) segment[index] = (segment[index] ?? 0) + weight
    }
  }
  return counts
}

/** The last segment that starts at or before a time. */
function segmentAt(cuts: Cut[], t: number): number {
  let [low, high] = [0, cuts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((cuts[middle]?.start ?? 0) <= t) low = middle
    else high = middle - 1
  }
  return low
}

function issuesIn({ start, end }: Cut, issues: FoundIssue[], isLast: boolean): AnalysedSegment['issues'] {
  const inside = issues.filter(({ t }) => t !== undefined && t >= start && (t < end || (isLast && t <= end)))
  return [...new Set(inside.map(({ code }) => code))].sort()
}

function activeBins({ bins }: Timeline): boolean[] {
  const active = new Array<boolean>(bins[0]?.length ?? 0).fill(false)
  for (const row of bins) for (const [bin, count] of row.entries()) if (count > 0) active[bin] = true
  return active
}

function activityIn(cut: Cut, active: boolean[], binNs: number, range: Range): number {
  if (binNs === 0) return 1
  const first = Math.floor((cut.start - range.start) / binNs)
  const last = Math.max(first + 1, Math.ceil((cut.end - range.start) / binNs))
  const count = active.slice(first, last).filter(Boolean).length
  return Math.min(1, count / (last - first))
}
