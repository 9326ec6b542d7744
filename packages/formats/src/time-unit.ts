// Numbers that are times, in files that do not say in which unit: columns of tables, datasets of measurements.

const NAME =
  /^(?:log|publish|receive|recv|record|event|sample|sensor|utc|unix|epoch|gps|system|elapsed)?[_ .]?(?:timestamp|time|stamp|datetime|ts|t)s?(?:[_ .]?[[(]?(s|secs?|seconds?|ms|millis|milliseconds?|us|micros|microseconds?|ns|nsecs?|nanos|nanoseconds?)[\])]?)?$/i

/** Whether something of this name is a time, and the unit that the name states. */
export function timeName(name: string): { unitNs: bigint | undefined } | undefined {
  const named = NAME.exec(name)
  return named ? { unitNs: suffixUnitNs(named[1]) } : undefined
}

function suffixUnitNs(suffix: string | undefined): bigint | undefined {
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
