// Footer and page headers are Thrift (compact protocol), which hyparquet reads. It makes room for a list before it has
// seen its elements, so that a hundred bytes of nested lists would ask for all memory there is. Nothing is given to it
// that has not been gone through here.

const MAX_DEPTH = 32
/** Each becomes an object or a number: a thousand columns in a hundred row groups have some three million. */
const MAX_VALUES = 4_000_000

/** Whether the bytes begin with one whole struct whose lists are no longer than the bytes they are made of. */
export function isSoundStruct(bytes: Uint8Array): boolean {
  return structEnd({ bytes, at: 0, left: MAX_VALUES }, MAX_DEPTH)
}

type Cursor = { bytes: Uint8Array; at: number; left: number }

const STOP = 0

function structEnd(cursor: Cursor, depth: number): boolean {
  while (cursor.at < cursor.bytes.length) {
    const head = cursor.bytes[cursor.at++] ?? STOP
    const type = head & 15
    if (type === STOP) return true
    if (head >> 4 === 0) passVarint(cursor)
    if (!passValue(cursor, type, depth)) return false
  }
  return false
}

const LONGEST_VARINT_BYTES = 10

function passVarint(cursor: Cursor): boolean {
  const from = cursor.at
  while (cursor.at < cursor.bytes.length && cursor.at - from < LONGEST_VARINT_BYTES) {
    if ((cursor.bytes[cursor.at++] ?? 0) < 0x80) return true
  }
  return false
}

function passValue(cursor: Cursor, type: number, depth: number): boolean {
  if (--cursor.left < 0) return false
  if (type === 1 || type === 2) return true
  if (type === 3) return pass(cursor, 1)
  if (type >= 4 && type <= 6) return passVarint(cursor)
  if (type === 7) return pass(cursor, 8)
  if (type === 8) return pass(cursor, readLength(cursor))
  if (type === 9) return passList(cursor, depth)
  return type === 12 && depth > 0 && structEnd(cursor, depth - 1)
}

function passList(cursor: Cursor, depth: number): boolean {
  if (depth === 0) return false
  const head = cursor.bytes[cursor.at++] ?? 0
  const length = head >> 4 === 15 ? readLength(cursor) : head >> 4
  // Every element takes a byte at least, those that are only true or false too.
  if (length > cursor.bytes.length - cursor.at) return false
  const type = head & 15
  for (let element = 0; element < length; element++) {
    if (!passValue(cursor, type === 1 || type === 2 ? 3 : type, depth - 1)) return false
  }
  return true
}

/** A length that is too long for its varint is as good as endless. */
function readLength(cursor: Cursor): number {
  const from = cursor.at
  if (!passVarint(cursor) || cursor.at - from > 5) return Number.POSITIVE_INFINITY
  const varint = cursor.bytes.subarray(from, cursor.at)
  return varint.reduce((value, byte, index) => value + (byte & 0x7f) * 2 ** (7 * index), 0)
}

function pass(cursor: Cursor, bytes: number): boolean {
  cursor.at += bytes
  return cursor.at <= cursor.bytes.length
}
