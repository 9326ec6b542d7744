import type { ChannelKind } from '@tapedeck/contract/kinds'
import type { ChannelTimes, Gap } from './channel-stats.ts'
import { type FoundIssue, issue } from './issue.ts'
import type { Range } from './range.ts'
import { thresholds } from './thresholds.ts'

// What the times of the channels say. Only from times of recording: gaps and rates, never "so many frames lost".

export type TimedChannel = {
  kind: ChannelKind
  encoding: string
  times: ChannelTimes
  latched: boolean
  timesComputed: boolean
  declaredRateHz: number | undefined
}

/** What is sent when there is something to say: silence means nothing. */
const sporadic = new Set<ChannelKind>(['log', 'event', 'map', 'command'])

export function checkChannelTimes(channel: TimedChannel, range: Range, stalls: Range[]): FoundIssue[] {
  const { times, latched, timesComputed } = channel
  if (times.count === 0)
    return [issue('channel_empty', { detail: 'announced, but without a single message' })]
  const found = [...checkOrder(channel), ...checkOutliers(times), ...checkJumps(times)]
  if (latched || timesComputed || sporadic.has(channel.kind)) return found
  return [...found, ...checkGaps(channel, stalls), ...checkRate(channel), ...checkEdges(channel, range)]
}

export function isPeriodic({ times }: Pick<TimedChannel, 'times'>): boolean {
  const { count, medianNs, jitterNs } = times
  if (count < thresholds.minMessagesForRate || medianNs === undefined || jitterNs === undefined) return false
  return 1e9 / medianNs >= thresholds.minPeriodicHz && jitterNs <= medianNs * thresholds.maxPeriodicSpread
}

/** Sentences of one fix share its time. */
const sharesTimes = new Set(['nmea', 'gpx'])

function checkOrder({ encoding, times: { count, outOfOrder, duplicates } }: TimedChannel): FoundIssue[] {
  const found: FoundIssue[] = []
  if (outOfOrder.count > 0) {
    const share = outOfOrder.count / count
    found.push(
      issue('out_of_order', {
        severity: share > thresholds.outOfOrderErrorShare ? 'error' : 'warning',
        detail: `${outOfOrder.count} of ${count} messages are earlier than one before them, by up to ${ms(outOfOrder.worstNs)}`,
        t: outOfOrder.t,
        count: outOfOrder.count,
        value: outOfOrder.worstNs,
      }),
    )
  }
  if (duplicates.count > count * thresholds.duplicateShare && !sharesTimes.has(encoding)) {
    found.push(
      issue('duplicate_timestamps', {
        detail: `${duplicates.count} of ${count} messages have the time of the message before them`,
        t: duplicates.t,
        count: duplicates.count,
      }),
    )
  }
  return found
}

function checkOutliers({ count, outliers }: ChannelTimes): FoundIssue[] {
  if (outliers.count === 0) return []
  return [
    issue('timestamp_invalid', {
      detail: `${outliers.count} of ${count} messages have a time more than 10 days away from their neighbours; they were left out`,
      count: outliers.count,
    }),
  ]
}

function checkJumps({ jumps }: ChannelTimes): FoundIssue[] {
  const [first] = jumps
  if (!first) return []
  return [
    issue('clock_jump', {
      detail: `the times of recording jump by ${seconds(first.ns)} (${jumps.length} times in all)`,
      count: jumps.length,
      value: first.ns,
    }),
  ]
}

function checkGaps(channel: TimedChannel, stalls: Range[]): FoundIssue[] {
  const { times } = channel
  if (!isPeriodic(channel) || times.medianNs === undefined) return []
  const limit = Math.max(thresholds.gapPeriods * times.medianNs, thresholds.gapMinNs)
  // Where everything was silent, the recorder is at fault and not each sensor.
  const isStall = (gap: Gap) =>
    stalls.some(({ start, end }) => gap.t <= start + 1 && gap.t + gap.ns >= end - 1)
  const long = times.gaps.filter(({ ns }) => ns > limit)
  const own = long.filter((gap) => !isStall(gap))
  // Only the longest are kept with their places; all are counted.
  const count = Math.max(own.length, times.periodsOver(limit) - (long.length - own.length))
  const [longest] = own
  if (!longest) return []
  return [
    issue('message_gap', {
      severity: longest.ns > thresholds.gapErrorNs ? 'error' : 'warning',
      detail: `silent for ${seconds(longest.ns)}, ${Math.round(longest.ns / times.medianNs)} periods of ${ms(times.medianNs)}; ${count} such gaps`,
      t: longest.t,
      count,
      value: longest.ns,
      threshold: limit,
    }),
  ]
}

function checkRate(channel: TimedChannel): FoundIssue[] {
  const { times, declaredRateHz } = channel
  if (
    declaredRateHz === undefined ||
    times.medianNs === undefined ||
    times.count < thresholds.minMessagesForRate
  )
    return []
  const rateHz = 1e9 / times.medianNs
  const deviation = Math.abs(rateHz - declaredRateHz) / declaredRateHz
  if (deviation <= thresholds.rateDeviation) return []
  return [
    issue('rate_deviation', {
      severity: deviation > thresholds.rateDeviationError ? 'error' : 'warning',
      detail: `runs at ${rateHz.toFixed(2)} Hz, ${declaredRateHz.toFixed(2)} Hz was expected`,
      value: rateHz,
      threshold: declaredRateHz,
    }),
  ]
}

function checkEdges(channel: TimedChannel, range: Range): FoundIssue[] {
  const { times } = channel
  if (!isPeriodic(channel)) return []
  const limit = Math.max(
    thresholds.edgeMinNs,
    thresholds.edgeShare * (range.end - range.start),
    thresholds.edgePeriods * (times.medianNs ?? 0),
  )
  const found: FoundIssue[] = []
  const [late, early] = [times.first - range.start, range.end - times.last]
  if (late > limit) {
    found.push(
      issue('late_start', {
        detail: `begins ${seconds(late)} after the recording`,
        t: times.first,
        value: late,
        threshold: limit,
      }),
    )
  }
  if (early > limit) {
    found.push(
      issue('early_end', {
        detail: `ends ${seconds(early)} before the recording`,
        t: times.last,
        value: early,
        threshold: limit,
      }),
    )
  }
  return found
}

/**
 * How long everything may be silent at once. Undefined where fewer than two channels have a rate of their own: then a
 * silence cannot be told from a gap of the one.
 */
export function stallThresholdNs(channels: Pick<TimedChannel, 'times' | 'kind'>[]): number | undefined {
  const periods = channels
    .filter((channel) => isPeriodic(channel) && !sporadic.has(channel.kind))
    .map(({ times }) => times.medianNs ?? 0)
  if (periods.length < 2) return undefined
  return Math.max(thresholds.stallMinNs, thresholds.gapPeriods * Math.min(...periods))
}

export function checkStalls(stalls: Range[], threshold: number): FoundIssue[] {
  const longest = [...stalls].sort((a, b) => b.end - b.start - (a.end - a.start))[0]
  if (!longest) return []
  const ns = longest.end - longest.start
  return [
    issue('recorder_stall', {
      severity: ns > thresholds.stallErrorNs ? 'error' : 'warning',
      detail: `nothing at all was recorded for ${seconds(ns)}; ${stalls.length} such stalls`,
      t: longest.start,
      count: stalls.length,
      value: ns,
      threshold,
    }),
  ]
}

export function seconds(ns: number): string {
  return `${(ns / 1e9).toFixed(Math.abs(ns) < 1e10 ? 3 : 1)} s`
}

export function ms(ns: number): string {
  return `${(ns / 1e6).toFixed(Math.abs(ns) < 1e8 ? 2 : 0)} ms`
}
