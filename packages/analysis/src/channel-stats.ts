import { openPeriods, weightedMedian } from './periods.ts'
import { thresholds } from './thresholds.ts'

// What can be said of the times of one channel while they go by: all of it in memory that does not grow, but for the
// times themselves, which the recording as a whole keeps up to a limit.

export type Gap = { t: number; ns: number }

export type ChannelTimes = {
  count: number
  bytes: number
  first: number
  last: number
  /** Successive messages with the same time. */
  duplicates: { count: number; t: number | undefined }
  /** Messages earlier than one before them; how much earlier at the worst. */
  outOfOrder: { count: number; t: number | undefined; worstNs: number }
  /** Times too far away to be believed; they count as messages and nothing else. */
  outliers: { count: number; t: number | undefined }
  /** The clock was set: from a time on, all is shifted. */
  jumps: Gap[]
  /** The longest silences, longest first. */
  gaps: Gap[]
  medianNs: number | undefined
  /** Periods longer than so many nanoseconds. */
  periodsOver(ns: number): number
  /** Median distance of the periods from their median. */
  jitterNs: number | undefined
}

const KEPT_GAPS = 16

export type ChannelClock = {
  add(t: number, bytes: number): void
  /** Messages so far. */
  count(): number
  /** Whether the time of the last one is believed. */
  isBelieved(): boolean
  finish(): ChannelTimes
}

export function openChannelTimes(): ChannelClock {
  const periods = openPeriods()
  const gaps: Gap[] = []
  const stats = {
    count: 0,
    bytes: 0,
    first: Number.POSITIVE_INFINITY,
    last: Number.NEGATIVE_INFINITY,
    duplicates: { count: 0, t: undefined as number | undefined },
    outOfOrder: { count: 0, t: undefined as number | undefined, worstNs: 0 },
    outliers: { count: 0, t: undefined as number | undefined },
    jumps: [] as Gap[],
  }
  let previous: number | undefined
  let believed = false
  let far: number[] = []

  /** A far time alone is an outlier; many in a row mean that the clock was set. */
  function isFar(t: number): boolean {
    if (previous === undefined || Math.abs(t - previous) <= thresholds.outlierNs) {
      far = []
      return false
    }
    if (far.length > 0 && Math.abs(t - (far.at(-1) ?? t)) > thresholds.outlierNs) far = []
    far.push(t)
    if (far.length < thresholds.jumpConfirmations) {
      stats.outliers.count++
      stats.outliers.t ??= t
      return true
    }
    stats.outliers.count -= far.length - 1
    if (stats.outliers.count === 0) stats.outliers.t = undefined
    stats.jumps.push({ t: far[0] ?? t, ns: (far[0] ?? t) - previous })
    // What came before the jump may have been the outlier: the larger side is believed.
    if (stats.count <= 2 * far.length)
      Object.assign(stats, { first: Math.min(...far), last: Math.max(...far) })
    previous = undefined
    far = []
    return false
  }

  function addPeriod(t: number, ns: number): void {
    if (ns === 0) {
      stats.duplicates.count++
      stats.duplicates.t ??= t
      return
    }
    if (ns < 0) {
      stats.outOfOrder.count++
      stats.outOfOrder.t ??= t
      stats.outOfOrder.worstNs = Math.max(stats.outOfOrder.worstNs, -ns)
      return
    }
    periods.add(ns)
    keepLongest(gaps, { t: t - ns, ns })
  }

  return {
    add(t, bytes) {
      stats.count++
      stats.bytes += bytes
      believed = !isFar(t)
      if (!believed) return
      stats.first = Math.min(stats.first, t)
      stats.last = Math.max(stats.last, t)
      if (previous !== undefined) addPeriod(t, t - previous)
      previous = previous === undefined ? t : Math.max(previous, t)
    },
    count: () => stats.count,
    isBelieved: () => believed,
    finish() {
      const sorted = periods.sorted()
      const medianNs = weightedMedian(sorted)
      const spread =
        medianNs === undefined ? [] : sorted.map(({ ns, count }) => ({ ns: Math.abs(ns - medianNs), count }))
      return {
        ...stats,
        gaps,
        medianNs,
        jitterNs: weightedMedian(spread.sort((a, b) => a.ns - b.ns)),
        periodsOver: (limit) => sorted.reduce((sum, { ns, count }) => (ns > limit ? sum + count : sum), 0),
      }
    },
  }
}

function keepLongest(gaps: Gap[], gap: Gap): void {
  if (gaps.length === KEPT_GAPS && gap.ns <= (gaps[KEPT_GAPS - 1]?.ns ?? 0)) return
  const place = gaps.findIndex(({ ns }) => ns < gap.ns)
  gaps.splice(place === -1 ? gaps.length : place, 0, gap)
  gaps.length = Math.min(gaps.length, KEPT_GAPS)
}
