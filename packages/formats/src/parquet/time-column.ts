import type { SchemaElement } from 'hyparquet'
import type { Column } from './columns.ts'

/** The column that says when a row was, and how its numbers are meant. */
export type TimeColumn = {
  column: Column
  /** Nanoseconds in one; undefined where only the size of the numbers tells. */
  unitNs: bigint | undefined
}

const NAME =
  /^(?:log|publish|receive|recv|record|event|sample|sensor|utc|unix|epoch|gps|system|elapsed)?[_ .]?(?:timestamp|time|stamp|datetime|ts|t)s?(?:[_ .]?[[(]?(s|secs?|seconds?|ms|millis|milliseconds?|us|micros|microseconds?|ns|nsecs?|nanos|nanoseconds?)[\])]?)?$/i

/** One that is a time by type and by name, else by name, else by type; of equals the first. */
export function findTimeColumn(columns: Column[]): TimeColumn | undefined {
  const candidates = columns.filter(isNumeric).map((column) => {
    const named = NAME.exec(column.name)
    const byType = typeUnitNs(column.element)
    const rank = (named ? 2 : 0) + (byType === undefined ? 0 : 1)
    return { column, unitNs: byType ?? nameUnitNs(named?.[1]), rank }
  })
  const best = Math.max(1, ...candidates.map(({ rank }) => rank))
  return candidates.find(({ rank }) => rank === best)
}

function isNumeric({ flat, element: { type, logical_type } }: Column): boolean {
  const other =
    logical_type?.type === 'DECIMAL' || logical_type?.type === 'DATE' || logical_type?.type === 'TIME'
  return flat && !other && ['INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE'].includes(type ?? '')
}

function typeUnitNs({ type, logical_type, converted_type }: SchemaElement): bigint | undefined {
  if (type === 'INT96') return 1n
  if (converted_type === 'TIMESTAMP_MILLIS') return 1_000_000n
  if (converted_type === 'TIMESTAMP_MICROS') return 1000n
  if (logical_type?.type !== 'TIMESTAMP') return undefined
  return { MILLIS: 1_000_000n, MICROS: 1000n, NANOS: 1n }[logical_type.unit]
}

function nameUnitNs(suffix: string | undefined): bigint | undefined {
  if (suffix === undefined) return undefined
  const first = suffix.toLowerCase()
  if (first.startsWith('n')) return 1n
  if (first.startsWith('u') || first.startsWith('mic')) return 1000n
  return first.startsWith('m') ? 1_000_000n : 1_000_000_000n
}

/** Unix times from 1973 to 2100, in seconds, and what each unit makes of them. */
const UNIX_FROM_S = 1e8
const UNIX_TO_S = 4.1e9
const UNITS: [perSecond: number, unitNs: bigint][] = [
  [1, 1_000_000_000n],
  [1e3, 1_000_000n],
  [1e6, 1000n],
  [1e9, 1n],
]
const DAY_S = 86_400

/**
 * By the size of the numbers, if they are Unix times, and by their steps, of which none is a day. Whole numbers that
 * are no Unix time are taken for nanoseconds and fractions for seconds, which is what recorders write.
 */
export function unitBySize(values: number[], whole: boolean): bigint {
  const size = median(values.map(Math.abs))
  const step = median(values.slice(1).map((value, index) => Math.abs(value - (values[index] ?? value))))
  const unix = UNITS.find(
    ([perSecond]) =>
      size >= UNIX_FROM_S * perSecond && size < UNIX_TO_S * perSecond && step < DAY_S * perSecond,
  )
  return unix?.[1] ?? (whole ? 1n : 1_000_000_000n)
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

/** Exact for whole numbers, and as exact as they are for fractions. */
export function toNs(value: number | bigint, unitNs: bigint): bigint | undefined {
  if (typeof value === 'bigint') return value * unitNs
  if (!Number.isFinite(value) || Math.abs(value) > 1e25) return undefined
  const whole = Math.trunc(value)
  // The fraction alone is small enough to be multiplied without loss.
  return BigInt(whole) * unitNs + BigInt(Math.round((value - whole) * Number(unitNs)))
}

const FROM_2000_NS = 946_684_800_000_000_000n
const TO_2100_NS = 4_102_444_800_000_000_000n

export function isUnixNs(ns: bigint): boolean {
  return ns >= FROM_2000_NS && ns < TO_2100_NS
}
