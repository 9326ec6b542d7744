import { PageDamage } from './damage.ts'

// Small numbers as runs: either one value so many times, or groups of eight values packed by their bits.

/** Definition levels of a plain column: 1 where there is a value. `end` is where they end in `bytes`. */
export function readLevels(
  bytes: Uint8Array,
  count: number,
  withLength: boolean,
): { present: Uint8Array; end: number } {
  if (!withLength) return { present: Uint8Array.from(readRuns(bytes, 1, count)), end: bytes.length }
  if (bytes.length < 4) throw new PageDamage('no room for levels')
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  if (length > bytes.length - 4)
    throw new PageDamage(`levels of ${length} bytes in a page of ${bytes.length}`)
  return { present: Uint8Array.from(readRuns(bytes.subarray(4, 4 + length), 1, count)), end: 4 + length }
}

const MAX_WIDTH = 32

export function readRuns(bytes: Uint8Array, width: number, count: number): Uint32Array {
  if (width > MAX_WIDTH) throw new PageDamage(`values of ${width} bits`)
  const values = new Uint32Array(count)
  if (width === 0) return values
  let at = 0
  let filled = 0
  while (filled < count) {
    const head = readVarint(bytes, at)
    at = head.end
    const taken = head.value % 2 === 1 ? (head.value >>> 1) * 8 : head.value >>> 1
    if (taken === 0) throw new PageDamage('a run of no values')
    const end = Math.min(filled + taken, count)
    if (head.value % 2 === 1) {
      unpack(bytes, at, width, values.subarray(filled, end))
      at += (head.value >>> 1) * width
    } else {
      const runBytes = Math.ceil(width / 8)
      values.fill(unpackOne(bytes, at, 0, runBytes * 8), filled, end)
      at += runBytes
    }
    filled = end
  }
  return values
}

export function readVarint(bytes: Uint8Array, from: number): { value: number; end: number } {
  let value = 0
  for (let index = 0; index < 5; index++) {
    const byte = bytes[from + index]
    if (byte === undefined) break
    value += (byte & 0x7f) * 2 ** (7 * index)
    if (byte < 0x80) return { value: value >>> 0, end: from + index + 1 }
  }
  throw new PageDamage('a length that does not end')
}

function unpack(bytes: Uint8Array, from: number, width: number, values: Uint32Array) {
  // The last group may be shorter than its eight values, where its bytes are the last of the page.
  if (from + Math.ceil((values.length * width) / 8) > bytes.length) throw new PageDamage('a run that is cut')
  for (let i = 0; i < values.length; i++) values[i] = unpackOne(bytes, from, i * width, width)
}

/** `width` bits from bit `bit` behind `from` on, of which the first are the lowest. */
function unpackOne(bytes: Uint8Array, from: number, bit: number, width: number): number {
  const first = from + Math.floor(bit / 8)
  const shift = bit % 8
  const last = first + Math.ceil((shift + width) / 8)
  if (last > bytes.length) throw new PageDamage('a run that is cut')
  let value = 0
  for (let at = last - 1; at >= first; at--) value = value * 256 + (bytes[at] ?? 0)
  return Math.floor(value / 2 ** shift) % 2 ** width
}
