import { parseIsoTime } from '../iso-time.ts'
import { type Decimal, parseDecimal } from './decimal.ts'

export type TimeColumn =
  /** A number, times ten to the power in nanoseconds. */
  | { kind: 'number'; column: number; power: number }
  /** Seconds in one column, nanoseconds in another. */
  | { kind: 'pair'; column: number; nanoColumn: number; power: 9 }
  | { kind: 'iso'; column: number }

/** Space stands for any run of blanks. */
export type Separator = ',' | '\t' | ';' | ' '

/** The time of the row between two indexes; undefined where there is none. */
export function rowTime(
  bytes: Uint8Array,
  from: number,
  to: number,
  separator: Separator,
  time: TimeColumn,
): Decimal | undefined {
  const field = fieldAt(bytes, from, to, separator, time.column)
  if (!field) return undefined
  if (time.kind === 'iso') {
    const instant = parseIsoTime(Buffer.from(bytes.subarray(field.from, field.to)).toString('latin1'))
    return instant && { ...instant, lossNs: 0 }
  }
  const sec = parseDecimal(bytes, field.from, field.to, time.power)
  if (time.kind === 'number' || !sec) return sec
  const rest = fieldAt(bytes, from, to, separator, time.nanoColumn)
  const nano = rest && parseDecimal(bytes, rest.from, rest.to, 0)
  return nano && { sec: sec.sec + nano.sec, nano: nano.nano, lossNs: sec.lossNs + nano.lossNs }
}

/** Whether a row has as many columns as it should; not asked of blanks and quotes, which may stand in any number. */
export function hasColumns(
  bytes: Uint8Array,
  from: number,
  to: number,
  separator: Separator,
  columns: number,
): boolean {
  if (separator === ' ') return true
  const mark = separator.charCodeAt(0)
  let found = 1
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (byte === mark) found++
    else if (byte === QUOTE) return true
  }
  return found === columns
}

/** Where a column stands, without blanks and quotes around it. */
export function fieldAt(bytes: Uint8Array, from: number, to: number, separator: Separator, column: number) {
  const mark = separator.charCodeAt(0)
  let start = from
  for (let index = 0; ; index++) {
    if (separator === ' ') while (start < to && isBlank(bytes[start])) start++
    const end = fieldEnd(bytes, start, to, mark)
    if (index === column) return trimmed(bytes, start, end)
    if (end >= to) return undefined
    start = end + 1
  }
}

function fieldEnd(bytes: Uint8Array, start: number, to: number, mark: number): number {
  let quoted = false
  for (let at = start; at < to; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) quoted = !quoted
    else if (!quoted && (byte === mark || (mark === SPACE && byte === TAB))) return at
  }
  return to
}

function trimmed(bytes: Uint8Array, start: number, end: number): { from: number; to: number } | undefined {
  let [from, to] = [start, end]
  while (from < to && (isBlank(bytes[from]) || bytes[from] === QUOTE)) from++
  while (to > from && (isBlank(bytes[to - 1]) || bytes[to - 1] === QUOTE)) to--
  return from < to ? { from, to } : undefined
}

const QUOTE = 0x22
const SPACE = 0x20
const TAB = 0x09

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === 0x0d
}
