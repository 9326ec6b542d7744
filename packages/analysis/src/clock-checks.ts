import type { ClockModel } from './clock.ts'
import { type FoundIssue, issue } from './issue.ts'
import { thresholds } from './thresholds.ts'
import { ms, seconds } from './timing-checks.ts'

/** What the clock of a sensor means for whoever uses its stamps. */
export function checkClock(model: ClockModel): FoundIssue[] {
  switch (model.kind) {
    case 'unset':
      return [
        issue('timestamp_invalid', {
          detail: 'the stamps in the messages are not set',
          count: model.pairs,
        }),
      ]
    case 'frozen':
      return [
        issue('stamp_frozen', {
          detail: 'the stamp in the messages stays the same',
          count: model.pairs,
        }),
      ]
    case 'simulated':
      return [
        issue('clock_simulated', {
          detail: `stamps are ${seconds(model.offsetNs)} away from the time of recording: a simulation, or counted from boot`,
          value: model.offsetNs,
        }),
      ]
    case 'gps':
    case 'offset':
    case 'synchronised':
      return [...offset(model), ...drift(model), ...jumps(model), ...future(model)]
    default:
      throw new Error(`unknown clock ${JSON.stringify(model.kind satisfies never)}`)
  }
}

function offset({ kind, offsetNs, envelopeOffsetNs, pairs }: ClockModel): FoundIssue[] {
  const gps = kind === 'gps' ? '; that is the distance of GPS or TAI from UTC' : ''
  return [
    issue('clock_offset_estimated', {
      detail: `the stamps are ${signed(envelopeOffsetNs)} from the recorder's clock by the lower envelope, ${signed(offsetNs)} by the median, from ${pairs} messages; up to the least transport delay${gps}`,
      value: envelopeOffsetNs,
    }),
  ]
}

function drift({ driftPpm }: ClockModel): FoundIssue[] {
  if (driftPpm === null || Math.abs(driftPpm) < thresholds.clock.driftWarnPpm) return []
  return [
    issue('clock_drift', {
      detail: `the sensor's clock runs ${driftPpm > 0 ? 'fast' : 'slow'} by ${Math.abs(driftPpm).toFixed(1)} ppm`,
      value: driftPpm,
      threshold: thresholds.clock.driftWarnPpm,
    }),
  ]
}

function jumps({ jumps: found }: ClockModel): FoundIssue[] {
  const [first] = found
  if (!first) return []
  return [
    issue('clock_jump', {
      detail: `the sensor's clock jumps by ${signed(first.ns)} (${found.length} times in all)`,
      t: first.t,
      count: found.length,
      value: first.ns,
    }),
  ]
}

function future({ kind, future: found }: ClockModel): FoundIssue[] {
  // GPS seconds are ahead by definition.
  if (found.count === 0 || kind === 'gps') return []
  return [
    issue('stamp_in_future', {
      detail: `${found.count} messages were stamped later than they were recorded, by up to ${ms(found.worstNs)}`,
      t: found.t,
      count: found.count,
      value: found.worstNs,
      threshold: thresholds.clock.futureNs,
    }),
  ]
}

function signed(ns: number): string {
  return Math.abs(ns) < 1e9 ? `${ns >= 0 ? '+' : ''}${ms(ns)}` : `${ns >= 0 ? '+' : ''}${seconds(ns)}`
}
