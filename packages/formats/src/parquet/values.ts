import type { Encoding, ParquetType } from 'hyparquet'
import { PageDamage } from './damage.ts'
import { readDeltas } from './delta.ts'
import { readLevels, readRuns } from './runs.ts'

// The values of a plain numeric column. hyparquet decodes them too, but believes what a page says of the length of its
// runs, which one page of ten bytes can use to fill all memory.

export type Numbers = Float64Array | BigInt64Array

export type Values = {
  numbers: Numbers
  /** 1 where there is a value; undefined where there is one everywhere. */
  present: Uint8Array | undefined
}

export type PageShape = {
  type: ParquetType
  encoding: Encoding
  count: number
  /** Where the definition levels lie; undefined for a column that has no nulls. */
  levels: { bytes: Uint8Array; withLength: boolean } | undefined
}

/** `body` begins with the levels if they have their length in front, and with the values otherwise. */
export function decodeValues(body: Uint8Array, shape: PageShape, dictionary: Numbers | undefined): Values {
  const { count, levels } = shape
  const { present, end } = levels
    ? readLevels(levels.bytes, count, levels.withLength)
    : { present: undefined, end: 0 }
  const stored = present ? present.reduce((sum, one) => sum + one, 0) : count
  const packed = decodeStored(levels?.withLength ? body.subarray(end) : body, shape, stored, dictionary)
  return present && stored < count
    ? { numbers: spread(packed, present), present }
    : { numbers: packed, present: undefined }
}

function decodeStored(
  bytes: Uint8Array,
  { type, encoding }: PageShape,
  count: number,
  dictionary: Numbers | undefined,
): Numbers {
  switch (encoding) {
    case 'PLAIN':
      return plain(bytes, type, count)
    case 'PLAIN_DICTIONARY':
    case 'RLE_DICTIONARY':
      return lookUp(readRuns(bytes.subarray(1), bytes[0] ?? 0, count), dictionary)
    case 'DELTA_BINARY_PACKED':
      return type === 'INT64' ? readDeltas(bytes, count) : Float64Array.from(readDeltas(bytes, count), Number)
    case 'BYTE_STREAM_SPLIT':
      return plain(unsplit(bytes, widthOf(type), count), type, count)
    default:
      throw new PageDamage('an encoding that is none for numbers')
  }
}

const WIDTHS: Partial<Record<ParquetType, number>> = { INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8 }

function widthOf(type: ParquetType): number {
  const width = WIDTHS[type]
  if (width === undefined) throw new PageDamage('values that are no numbers')
  return width
}

const JULIAN_DAY_OF_1970 = 2_440_588n
const DAY_NS = 86_400_000_000_000n

export function plain(bytes: Uint8Array, type: ParquetType, count: number): Numbers {
  const width = widthOf(type)
  if (count * width > bytes.length) {
    throw new PageDamage(`${bytes.length} bytes for ${count} values of ${width} bytes each`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (type === 'INT64') return BigInt64Array.from({ length: count }, (_, i) => view.getBigInt64(i * 8, true))
  // The old type for times: nanoseconds of the day, and the day.
  if (type === 'INT96') {
    return BigInt64Array.from({ length: count }, (_, i) => {
      const day = BigInt(view.getInt32(i * 12 + 8, true)) - JULIAN_DAY_OF_1970
      return BigInt.asIntN(64, day * DAY_NS + view.getBigInt64(i * 12, true))
    })
  }
  const numbers = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    numbers[i] =
      type === 'DOUBLE'
        ? view.getFloat64(i * 8, true)
        : type === 'FLOAT'
          ? view.getFloat32(i * 4, true)
          : view.getInt32(i * 4, true)
  }
  return numbers
}

function lookUp(indexes: Uint32Array, dictionary: Numbers | undefined): Numbers {
  if (!dictionary) throw new PageDamage('a page of a dictionary that is missing')
  const wrong = indexes.find((index) => index >= dictionary.length)
  if (wrong !== undefined) throw new PageDamage(`entry ${wrong} of a dictionary of ${dictionary.length}`)
  if (dictionary instanceof Float64Array) return Float64Array.from(indexes, (index) => dictionary[index] ?? 0)
  const numbers = new BigInt64Array(indexes.length)
  for (const [row, index] of indexes.entries()) numbers[row] = dictionary[index] ?? 0n
  return numbers
}

/** First all first bytes, then all second ones: put together again. */
function unsplit(bytes: Uint8Array, width: number, count: number): Uint8Array {
  if (count * width > bytes.length)
    throw new PageDamage(`${bytes.length} bytes for ${count} values of ${width} bytes`)
  const whole = new Uint8Array(count * width)
  for (let byte = 0; byte < width; byte++) {
    for (let i = 0; i < count; i++) whole[i * width + byte] = bytes[byte * count + i] ?? 0
  }
  return whole
}

function spread(packed: Numbers, present: Uint8Array): Numbers {
  let next = 0
  if (packed instanceof Float64Array) {
    return Float64Array.from(present, (one) => (one ? (packed[next++] ?? 0) : 0))
  }
  const numbers = new BigInt64Array(present.length)
  for (const [row, one] of present.entries()) if (one) numbers[row] = packed[next++] ?? 0n
  return numbers
}
