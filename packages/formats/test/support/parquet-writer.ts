import { brotliCompressSync, crc32, gzipSync, zstdCompressSync } from 'node:zlib'
import { join, text } from './film.ts'

// Parquet by the byte: plain columns and lists of numbers, in the encodings and compressions that readers meet.

type Value = number | bigint | null
type Kind = 'INT32' | 'INT64' | 'INT96' | 'FLOAT' | 'DOUBLE' | 'BYTE_ARRAY'
type Codec = 'UNCOMPRESSED' | 'SNAPPY' | 'GZIP' | 'BROTLI' | 'ZSTD' | 'LZ4_RAW'
export type Encoding = 'PLAIN' | 'RLE_DICTIONARY' | 'DELTA_BINARY_PACKED' | 'BYTE_STREAM_SPLIT'

export type TestColumn = {
  name: string
  kind: Kind
  /** Undefined for a column that may have no nulls. */
  nullable?: boolean
  /** Values of one row each, or as many lists. */
  values: Value[] | Value[][]
  encoding?: Encoding
  logical?: Uint8Array
}

export type TestTable = {
  columns: TestColumn[]
  rowsPerGroup?: number
  rowsPerPage?: number
  codec?: Codec
  version?: 1 | 2
  checksums?: boolean
  /** Rows that the footer says there are, in all and in each group, if not the truth. */
  statedRows?: number
  statedGroupRows?: number
}

const KINDS: Kind[] = ['INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY']
const KIND_NUMBERS = new Map(KINDS.map((kind, index) => [kind, index + 1]))
const CODECS: Record<Codec, number> = { UNCOMPRESSED: 0, SNAPPY: 1, GZIP: 2, BROTLI: 4, ZSTD: 6, LZ4_RAW: 7 }
const ENCODINGS: Record<Encoding, number> = {
  PLAIN: 0,
  DELTA_BINARY_PACKED: 5,
  RLE_DICTIONARY: 8,
  BYTE_STREAM_SPLIT: 9,
}
const RLE = 3
const TYPES = { true: 1, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 }

/** Logical types of time: `TIMESTAMP` in a unit, in Thrift. */
export const timestampMillis = struct([
  8,
  'struct',
  struct([1, 'true'], [2, 'struct', struct([1, 'struct', struct()])]),
])
export const timestampMicros = struct([
  8,
  'struct',
  struct([1, 'true'], [2, 'struct', struct([2, 'struct', struct()])]),
])
export const timestampNanos = struct([
  8,
  'struct',
  struct([1, 'true'], [2, 'struct', struct([3, 'struct', struct()])]),
])

export function parquetFile(table: TestTable): Uint8Array {
  const rows = table.columns[0]?.values.length ?? 0
  const perGroup = table.rowsPerGroup ?? Math.max(rows, 1)
  const parts: Uint8Array[] = [text('PAR1')]
  const groups: Uint8Array[] = []
  for (let from = 0; from < rows; from += perGroup) {
    const to = Math.min(from + perGroup, rows)
    const chunks = table.columns.map((column) => {
      const at = parts.reduce((sum, part) => sum + part.length, 0)
      const chunk = columnChunk(table, column, column.values.slice(from, to), at)
      parts.push(chunk.bytes)
      return chunk.meta
    })
    groups.push(
      struct(
        [1, 'list', list('struct', chunks)],
        [2, 'i64', 1000],
        [3, 'i64', table.statedGroupRows ?? to - from],
      ),
    )
  }
  const footer = struct(
    [1, 'i32', 2],
    [2, 'list', list('struct', schema(table.columns))],
    [3, 'i64', table.statedRows ?? rows],
    [4, 'list', list('struct', groups)],
  )
  return join(...parts, footer, u32le(footer.length), text('PAR1'))
}

function schema(columns: TestColumn[]): Uint8Array[] {
  const root = struct([4, 'binary', text('schema')], [5, 'i32', columns.length])
  const elements = columns.flatMap(({ name, kind, nullable, values, logical }) => {
    const type: Field = [1, 'i32', KIND_NUMBERS.get(kind) ?? 0]
    if (Array.isArray(values[0])) {
      return [
        struct([3, 'i32', 0], [4, 'binary', text(name)], [5, 'i32', 1], [6, 'i32', 3]),
        struct([3, 'i32', 2], [4, 'binary', text('list')], [5, 'i32', 1]),
        struct(type, [3, 'i32', 0], [4, 'binary', text('element')]),
      ]
    }
    const logicalField: Field[] = logical ? [[10, 'struct', logical]] : []
    return [struct(type, [3, 'i32', nullable ? 1 : 0], [4, 'binary', text(name)], ...logicalField)]
  })
  return [root, ...elements]
}

function columnChunk(table: TestTable, column: TestColumn, values: (Value | Value[])[], at: number) {
  const codec = table.codec ?? 'UNCOMPRESSED'
  const lists = Array.isArray(values[0])
  const encoding = lists ? 'PLAIN' : (column.encoding ?? 'PLAIN')
  const distinct =
    encoding === 'RLE_DICTIONARY' ? [...new Set(values.flat().filter((one) => one !== null))] : []
  const dictionary =
    encoding === 'RLE_DICTIONARY'
      ? page(table, 2, plain(column.kind, distinct), undefined, [
          7,
          'struct',
          struct([1, 'i32', distinct.length], [2, 'i32', 0]),
        ])
      : new Uint8Array()
  const perPage = table.rowsPerPage ?? Math.max(values.length, 1)
  const pages: Uint8Array[] = []
  for (let from = 0; from < values.length; from += perPage) {
    pages.push(dataPage(table, column, values.slice(from, from + perPage), distinct, encoding))
  }
  const bytes = join(dictionary, ...pages)
  const path = lists ? [column.name, 'list', 'element'] : [column.name]
  const meta = struct(
    [1, 'i32', KIND_NUMBERS.get(column.kind) ?? 0],
    [2, 'list', list('i32', [varint(zigzag(ENCODINGS[encoding]))])],
    [
      3,
      'list',
      list(
        'binary',
        path.map((one) => join(varint(BigInt(one.length)), text(one))),
      ),
    ],
    [4, 'i32', CODECS[codec]],
    [5, 'i64', values.flat().length],
    [6, 'i64', bytes.length],
    [7, 'i64', bytes.length],
    [9, 'i64', at + dictionary.length],
    ...(dictionary.length > 0 ? [[11, 'i64', at] as Field] : []),
  )
  return { bytes, meta: struct([2, 'i64', at], [3, 'struct', meta]) }
}

function dataPage(
  table: TestTable,
  { kind, nullable }: TestColumn,
  values: (Value | Value[])[],
  distinct: Value[],
  encoding: Encoding,
): Uint8Array {
  const flat = values.flat()
  const present = flat.filter((one) => one !== null)
  const lists = Array.isArray(values[0])
  const repetitions = lists
    ? runs(
        values.flatMap((one) => [one].flat().map((_, index) => (index > 0 ? 1 : 0))),
        1,
      )
    : undefined
  const definitions = nullable
    ? runs(
        flat.map((one) => (one === null ? 0 : 1)),
        1,
      )
    : lists
      ? runs(
          flat.map(() => 1),
          1,
        )
      : undefined
  const body = encode(kind, present, distinct, encoding)
  const head: Field[] = [
    [1, 'i32', flat.length],
    [2, 'i32', ENCODINGS[encoding]],
    [3, 'i32', RLE],
    [4, 'i32', RLE],
  ]
  if (table.version !== 2) {
    const levels = [repetitions, definitions].filter((one) => one !== undefined)
    const content = join(...levels.flatMap((one) => [u32le(one.length), one]), body)
    return page(table, 0, content, undefined, [5, 'struct', struct(...head)])
  }
  const levels = join(repetitions ?? new Uint8Array(), definitions ?? new Uint8Array())
  const v2 = struct(
    [1, 'i32', flat.length],
    [2, 'i32', flat.length - present.length],
    [3, 'i32', values.length],
    [4, 'i32', ENCODINGS[encoding]],
    [5, 'i32', definitions?.length ?? 0],
    [6, 'i32', repetitions?.length ?? 0],
    [7, 'true'],
  )
  return page(table, 3, body, levels, [8, 'struct', v2])
}

function page(
  { codec = 'UNCOMPRESSED', checksums }: TestTable,
  type: number,
  content: Uint8Array,
  levels: Uint8Array | undefined,
  head: Field,
): Uint8Array {
  const body = join(levels ?? new Uint8Array(), compress(content, codec))
  const sum: Field[] = checksums ? [[4, 'i32', crc32(body) | 0]] : []
  const header = struct(
    [1, 'i32', type],
    [2, 'i32', content.length + (levels?.length ?? 0)],
    [3, 'i32', body.length],
    ...sum,
    head,
  )
  return join(header, body)
}

function encode(kind: Kind, values: Value[], distinct: Value[], encoding: Encoding): Uint8Array {
  if (encoding === 'PLAIN') return plain(kind, values)
  if (encoding === 'DELTA_BINARY_PACKED') return deltas(values.map((one) => BigInt(one ?? 0)))
  if (encoding === 'RLE_DICTIONARY') {
    const width = Math.max(1, Math.ceil(Math.log2(distinct.length)))
    return join(
      new Uint8Array([width]),
      packed(
        values.map((one) => distinct.indexOf(one)),
        width,
      ),
    )
  }
  const whole = plain(kind, values)
  const width = whole.length / Math.max(1, values.length)
  return Uint8Array.from(whole, (_, at) => {
    const byte = Math.floor(at / values.length)
    return whole[(at % values.length) * width + byte] ?? 0
  })
}

function plain(kind: Kind, values: Value[]): Uint8Array {
  const width = { INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8, BYTE_ARRAY: 4 }[kind]
  const bytes = new Uint8Array(values.length * width)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of values.entries()) {
    const at = index * width
    if (kind === 'INT32') view.setInt32(at, Number(value), true)
    else if (kind === 'INT64') view.setBigInt64(at, BigInt(value ?? 0), true)
    else if (kind === 'FLOAT') view.setFloat32(at, Number(value), true)
    else if (kind === 'DOUBLE') view.setFloat64(at, Number(value), true)
    else if (kind === 'INT96') {
      const ns = BigInt(value ?? 0)
      view.setBigInt64(at, ns % 86_400_000_000_000n, true)
      view.setInt32(at + 8, Number(ns / 86_400_000_000_000n) + 2_440_588, true)
    }
  }
  return bytes
}

/** Each value as a run of its own length. */
export function runs(values: number[], width: number): Uint8Array {
  const parts: Uint8Array[] = []
  for (let from = 0; from < values.length; ) {
    let to = from
    while (values[to] === values[from] && to < values.length) to++
    parts.push(varint(BigInt(to - from) << 1n), u32le(values[from] ?? 0).slice(0, Math.ceil(width / 8)))
    from = to
  }
  return join(...parts)
}

/** Groups of eight, bit by bit. */
function packed(values: number[], width: number): Uint8Array {
  const groups = Math.ceil(values.length / 8)
  const bytes = new Uint8Array(groups * width)
  for (const [index, value] of values.entries()) {
    for (let bit = 0; bit < width; bit++) {
      const at = index * width + bit
      if ((value >> bit) & 1) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7))
    }
  }
  return join(varint((BigInt(groups) << 1n) | 1n), bytes)
}

const BLOCK = 128
const MINIBLOCKS = 4

function deltas(values: bigint[]): Uint8Array {
  const parts = [
    varint(BigInt(BLOCK)),
    varint(BigInt(MINIBLOCKS)),
    varint(BigInt(values.length)),
    varint(zigzag(values[0] ?? 0n)),
  ]
  const steps = values.slice(1).map((value, index) => value - (values[index] ?? 0n))
  for (let from = 0; from < steps.length; from += BLOCK) {
    const block = steps.slice(from, from + BLOCK)
    const smallest = block.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n
    const rest = block.map((one) => one - smallest)
    const minis = Array.from({ length: MINIBLOCKS }, (_, index) => rest.slice(index * 32, index * 32 + 32))
    const widths = minis.map((mini) =>
      Math.max(0, ...mini.map((one) => (one === 0n ? 0 : one.toString(2).length))),
    )
    parts.push(varint(zigzag(smallest)), new Uint8Array(widths))
    for (const [index, mini] of minis.entries()) {
      const width = widths[index] ?? 0
      const bytes = new Uint8Array((32 * width) / 8)
      for (const [position, value] of mini.entries()) {
        for (let bit = 0; bit < width; bit++) {
          const at = position * width + bit
          if ((value >> BigInt(bit)) & 1n) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7))
        }
      }
      if (mini.length > 0) parts.push(bytes)
    }
  }
  return join(...parts)
}

function compress(bytes: Uint8Array, codec: Codec): Uint8Array {
  if (codec === 'GZIP') return gzipSync(bytes)
  if (codec === 'ZSTD') return zstdCompressSync(bytes)
  if (codec === 'BROTLI') return brotliCompressSync(bytes)
  if (codec === 'SNAPPY') return snappy(bytes)
  return codec === 'LZ4_RAW' ? lz4(bytes) : bytes
}

/** Nothing but literals, which is Snappy too. */
function snappy(bytes: Uint8Array): Uint8Array {
  const parts = [varint(BigInt(bytes.length))]
  for (let from = 0; from < bytes.length; from += 60) {
    const piece = bytes.subarray(from, from + 60)
    parts.push(new Uint8Array([(piece.length - 1) << 2]), piece)
  }
  return join(...parts)
}

function lz4(bytes: Uint8Array): Uint8Array {
  const more = bytes.length - 15
  if (more < 0) return join(new Uint8Array([bytes.length << 4]), bytes)
  const lengths = new Uint8Array(Math.floor(more / 255) + 1).fill(255)
  lengths[lengths.length - 1] = more % 255
  return join(new Uint8Array([0xf0]), lengths, bytes)
}

type Field =
  | [id: number, type: 'true']
  | [id: number, type: 'i32' | 'i64', value: number]
  | [id: number, type: 'binary' | 'list' | 'struct', value: Uint8Array]

export function struct(...fields: Field[]): Uint8Array {
  let last = 0
  const parts = fields.flatMap(([id, type, value]) => {
    const head = new Uint8Array([((id - last) << 4) | TYPES[type]])
    last = id
    if (value === undefined) return [head]
    if (typeof value === 'number') return [head, varint(zigzag(value))]
    return type === 'binary' ? [head, varint(BigInt(value.length)), value] : [head, value]
  })
  return join(...parts, new Uint8Array(1))
}

export function list(
  type: 'i32' | 'binary' | 'struct',
  elements: Uint8Array[],
  stated = elements.length,
): Uint8Array {
  const head =
    stated < 15
      ? [new Uint8Array([(stated << 4) | TYPES[type]])]
      : [new Uint8Array([0xf0 | TYPES[type]]), varint(BigInt(stated))]
  return join(...head, ...elements)
}

export function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return new Uint8Array(bytes)
}

function zigzag(value: number | bigint): bigint {
  const whole = BigInt(value)
  return whole < 0n ? -whole * 2n - 1n : whole * 2n
}

export function u32le(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}
