import type { Instant } from '../linear/timeline.ts'

/** Of a written number: `lossNs` is what its last digit stands for where it was written with an exponent. */
export type Decimal = Instant & { lossNs: number }

const MAX_DIGITS = 24

/**
 * The decimal number between two indexes, times ten to the `power`, as whole seconds and nanoseconds when the result
 * is taken as nanoseconds. Exact where a float is not: stamps of 19 digits are more than one number can hold.
 */
export function parseDecimal(
  bytes: Uint8Array,
  from: number,
  to: number,
  power: number,
): Decimal | undefined {
  const negative = bytes[from] === MINUS
  const start = negative || bytes[from] === PLUS ? from + 1 : from
  let point = -1
  let end = start
  for (; end < to; end++) {
    const byte = bytes[end] ?? 0
    if (byte === POINT && point < 0) point = end
    else if (byte < 0x30 || byte > 0x39) break
  }
  const wholeDigits = (point < 0 ? end : point) - start
  const fractionDigits = point < 0 ? 0 : end - point - 1
  const exponent = end < to ? parseExponent(bytes, end, to) : 0
  if (exponent === undefined || wholeDigits + fractionDigits === 0) return undefined

  const digits = wholeDigits + power + exponent
  if (digits > MAX_DIGITS) return undefined
  let [sec, nano, position] = [0, 0, 0]
  for (let at = start; position < digits; at++) {
    if (at === point) continue
    const digit = at < end ? (bytes[at] ?? 0) - 0x30 : 0
    if (position++ < digits - 9) sec = sec * 10 + digit
    else nano = nano * 10 + digit
  }
  const lossNs = end < to ? 10 ** (power + exponent - fractionDigits) : 0
  if (!negative) return { sec, nano, lossNs }
  return nano === 0 ? { sec: -sec, nano, lossNs } : { sec: -sec - 1, nano: 1e9 - nano, lossNs }
}

const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e

function parseExponent(bytes: Uint8Array, from: number, to: number): number | undefined {
  const text = Buffer.from(bytes.subarray(from, Math.min(to, from + 8))).toString('latin1')
  const [, exponent] = /^e([+-]?\d{1,4})$/i.exec(text) ?? []
  return exponent === undefined ? undefined : Number(exponent)
}
