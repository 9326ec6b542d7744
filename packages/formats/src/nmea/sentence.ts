import type { Instant } from '../linear/timeline.ts'

// `$GPRMC,…*hh`: an address, fields, and the exclusive or of all bytes between `$` and `*`.

export const MAX_SENTENCE_BYTES = 512

export type Sentence = { at: number; length: number; address: string }

/** `more`: the block ends first. `damaged`: begins like a sentence and is none. */
export type Found = Sentence | 'more' | 'damaged' | 'none'

export function sentenceAt(bytes: Buffer, at: number): Found {
  const limit = at + MAX_SENTENCE_BYTES
  let checksum = 0
  let addressEnd = 0
  let end = at + 1
  for (; ; end++) {
    const byte = bytes[end]
    if (byte === undefined) return end < limit ? 'more' : 'none'
    if (byte === STAR) break
    if (byte < 0x20 || byte > 0x7e || byte === DOLLAR || end >= limit) {
      return looksLikeSentence(bytes, at) ? 'damaged' : 'none'
    }
    if (byte === COMMA && addressEnd === 0) addressEnd = end
    checksum ^= byte
  }
  if (end + 2 >= bytes.length) return 'more'
  const address = bytes.toString('latin1', at + 1, Math.min(addressEnd || end, at + 12))
  if (!/^[A-Z][A-Z0-9]{2,9}$/.test(address)) return looksLikeSentence(bytes, at) ? 'damaged' : 'none'
  if (hexDigit(bytes[end + 1]) * 16 + hexDigit(bytes[end + 2]) !== checksum) return 'damaged'
  return { at, length: end + 3 - at, address }
}

const COMMA = 0x2c
const DOLLAR = 0x24
const STAR = 0x2a

/** A `$` among binary bytes means nothing; one with an address behind it does. */
function looksLikeSentence(bytes: Buffer, at: number): boolean {
  return /^[A-Z]{2}[A-Z0-9]{1,8},/.test(bytes.toString('latin1', at + 1, at + 12))
}

function hexDigit(byte = 0): number {
  return Number.parseInt(String.fromCharCode(byte), 16)
}

/** Whether the end of the file came in the middle of a sentence. */
export function isCutSentence(bytes: Buffer, at: number): boolean {
  return /^[A-Z]{0,2}([A-Z0-9]{1,8}(,|$)|$)/.test(bytes.toString('latin1', at + 1))
}

export type Told = {
  /** Seconds of the day, and nanoseconds; undefined where the sentence has no time. */
  time: Instant | undefined
  /** Midnight in Unix seconds; undefined where the sentence has no date. */
  day: number | undefined
  /** Whether the receiver stands by the date: before its first fix it may be any. */
  valid: boolean
}

const timeFields = new Map([
  ...['RMC', 'ZDA', 'GGA', 'GNS', 'GST', 'GBS', 'GRS'].map((type) => [type, 0] as const),
  ['GLL', 4] as const,
])

/** What a sentence says of the time. */
export function tellTime(bytes: Buffer, { at, length, address }: Sentence): Told {
  const type = address.startsWith('P') ? '' : address.slice(-3)
  const field = timeFields.get(type)
  if (field === undefined) return nothing
  const [, ...fields] = bytes.toString('latin1', at, at + length - 3).split(',')
  const time = timeOfDay(fields[field] ?? '')
  if (time && type === 'RMC') {
    const [, day, month, year] = /^(\d\d)(\d\d)(\d\d)$/.exec(fields[8] ?? '') ?? []
    const century = Number(year) < 80 ? 2000 : 1900
    return {
      time,
      day: midnight(century + Number(year), Number(month), Number(day)),
      valid: fields[1] === 'A',
    }
  }
  if (time && type === 'ZDA') {
    const [, day = '', month = '', year = ''] = fields
    return { time, day: midnight(Number(year), Number(month), Number(day)), valid: Number(year) >= 2000 }
  }
  return { ...nothing, time }
}

export const nothing: Told = { time: undefined, day: undefined, valid: false }

function timeOfDay(text: string): Instant | undefined {
  const [, hour, minute, second, fraction = ''] = /^(\d\d)(\d\d)(\d\d)(?:\.(\d{1,9}))?$/.exec(text) ?? []
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  return {
    sec: Number(hour) * 3600 + Number(minute) * 60 + Number(second),
    nano: Number(fraction.padEnd(9, '0')),
  }
}

function midnight(year: number, month: number, day: number): number | undefined {
  const ms = Date.UTC(year, month - 1, day)
  const isDate = year >= 1980 && new Date(ms).getUTCDate() === day && month >= 1 && month <= 12
  return isDate ? ms / 1000 : undefined
}
