import { PageDamage } from './damage.ts'
import { readVarint } from './runs.ts'

// DELTA_BINARY_PACKED: a first value, then blocks of differences; each block has a smallest difference and what the
// others have beyond it, packed in so many bits for each of its miniblocks.

const MAX_BLOCK = 1 << 20

export function readDeltas(bytes: Uint8Array, count: number): BigInt64Array {
  const values = new BigInt64Array(count)
  const block = readVarint(bytes, 0)
  const miniblocks = readVarint(bytes, block.end)
  const total = readVarint(bytes, miniblocks.end)
  const first = readZigzag(bytes, total.end)
  const perMiniblock = block.value / miniblocks.value
  if (block.value > MAX_BLOCK || !(perMiniblock >= 8) || perMiniblock % 8 !== 0 || total.value < count) {
    throw new PageDamage(
      `${total.value} differences in blocks of ${block.value} and ${miniblocks.value} parts`,
    )
  }
  if (count > 0) values[0] = first.value
  let at = first.end
  let value = first.value
  for (let filled = 1; filled < count; ) {
    const smallest = readZigzag(bytes, at)
    const widths = bytes.subarray(smallest.end, smallest.end + miniblocks.value)
    at = smallest.end + miniblocks.value
    for (const width of widths) {
      if (filled >= count) break
      const end = Math.min(filled + perMiniblock, count)
      for (let bit = 0; filled < end; bit += width) {
        value = BigInt.asIntN(64, value + smallest.value + bitsAt(bytes, at, bit, width))
        values[filled++] = value
      }
      at += (perMiniblock * width) / 8
    }
    if (widths.length === 0) throw new PageDamage('a block of differences that is cut')
  }
  return values
}

function readZigzag(bytes: Uint8Array, from: number): { value: bigint; end: number } {
  let value = 0n
  for (let index = 0; index < 10; index++) {
    const byte = bytes[from + index]
    if (byte === undefined) break
    value |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) return { value: (value >> 1n) ^ -(value & 1n), end: from + index + 1 }
  }
  throw new PageDamage('a number that does not end')
}

function bitsAt(bytes: Uint8Array, from: number, bit: number, width: number): bigint {
  if (width === 0) return 0n
  const first = from + Math.floor(bit / 8)
  const shift = bit % 8
  const last = first + Math.ceil((shift + width) / 8)
  if (width > 64 || last > bytes.length) throw new PageDamage('differences that are cut')
  // Up to 53 bits are a plain number, which is much faster.
  if (shift + width <= 53) {
    let value = 0
    for (let at = last - 1; at >= first; at--) value = value * 256 + (bytes[at] ?? 0)
    return BigInt(Math.floor(value / 2 ** shift) % 2 ** width)
  }
  let value = 0n
  for (let at = last - 1; at >= first; at--) value = (value << 8n) | BigInt(bytes[at] ?? 0)
  return (value >> BigInt(shift)) & ((1n << BigInt(width)) - 1n)
}
