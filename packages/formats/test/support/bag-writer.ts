// Writes ROS 1 bags as the recorder does, byte for byte the same on every run, and in the ways in which it does not:
// without an index, with padding, with records that lie.

export type Connection = {
  id: number
  topic: string
  type: string
  md5?: string
  definition?: string
  latching?: boolean
}

export type Message = { conn: number; sec: number; nano: number; data: Uint8Array }

export type Chunk = {
  messages: Message[]
  compression?: string
  /** Makes the data of the chunk from its records; 'none' needs nothing. */
  pack?: (records: Uint8Array) => Uint8Array
}

export type BagOptions = {
  connections: Connection[]
  chunks: Chunk[]
  /** The index of the whole: a recorder that crashed writes position 0 and nothing at the end. */
  isClosed?: boolean
  /** Zeros behind the index of every chunk. */
  paddingBytes?: number
  /** Further fields of the bag header. */
  header?: Record<string, Uint8Array>
}

export type Place = { at: number; dataAt: number; dataBytes: number; end: number }
export type Written = { bytes: Uint8Array; chunks: Place[]; indexAt: number }

const HEADER_BYTES = 4096
const MD5_OF_ANYTHING = '0123456789abcdef0123456789abcdef'

export function writeBag({
  connections,
  chunks,
  isClosed = true,
  paddingBytes = 0,
  header = {},
}: BagOptions): Written {
  const parts: Uint8Array[] = [ascii('#ROSBAG V2.0\n'), new Uint8Array(HEADER_BYTES)]
  let at = size(parts)
  const places: Place[] = []
  const infos: Uint8Array[] = []
  const introduced = new Set<number>()
  for (const chunk of chunks) {
    const { place, bytes, info } = writeChunk(chunk, at, connections, introduced)
    parts.push(bytes, new Uint8Array(paddingBytes))
    places.push(place)
    infos.push(info)
    at += bytes.length + paddingBytes
  }
  const indexAt = at
  if (isClosed) parts.push(...connections.map(connectionRecord), ...infos)
  parts[1] = bagHeader({
    index_pos: u64(isClosed ? indexAt : 0),
    conn_count: u32(isClosed ? connections.length : 0),
    chunk_count: u32(isClosed ? chunks.length : 0),
    ...header,
  })
  return { bytes: join(parts), chunks: places, indexAt }
}

/** Version 1.2: definitions and messages one behind the other. */
export function writeOldBag(connections: Connection[], messages: Message[]): Uint8Array {
  const topicOf = (conn: number) => connections.find(({ id }) => id === conn)?.topic ?? ''
  const definitions = connections.map(({ topic, type, md5 = MD5_OF_ANYTHING, definition = '' }) =>
    record(1, { topic: ascii(topic), type: ascii(type), md5: ascii(md5), def: ascii(definition) }),
  )
  const records = messages.map(({ conn, sec, nano, data }) =>
    record(2, { topic: ascii(topicOf(conn)), sec: u32(sec), nsec: u32(nano) }, data),
  )
  const header = record(3, { index_pos: u64(0) }, new Uint8Array(4000).fill(0x20))
  return join([ascii('#ROSRECORD V1.2\n'), header, ...definitions, ...records])
}

function writeChunk(chunk: Chunk, at: number, connections: Connection[], introduced: Set<number>) {
  const { messages, compression = 'none', pack = (records: Uint8Array) => records } = chunk
  const { records, offsets } = chunkRecords(messages, connections, introduced)
  const data = pack(records)
  const head = record(5, { compression: ascii(compression), size: u32(records.length) }, data)
  const byConn = Map.groupBy(
    messages.map((message, index) => ({ ...message, offset: offsets[index] ?? 0 })),
    ({ conn }) => conn,
  )
  const bytes = join([head, ...byConn.entries().map(([conn, entries]) => indexRecord(conn, entries))])
  const place = { at, dataAt: at + head.length - data.length, dataBytes: data.length, end: at + bytes.length }
  return { place, bytes, info: chunkInfo(at, byConn) }
}

/** A connection stands before its first message of the whole bag. */
export function chunkRecords(messages: Message[], connections: Connection[], introduced = new Set<number>()) {
  const parts: Uint8Array[] = []
  const offsets: number[] = []
  const byId = new Map(connections.map((connection) => [connection.id, connection]))
  let at = 0
  const push = (part: Uint8Array) => {
    parts.push(part)
    at += part.length
  }
  for (const { conn, sec, nano, data } of messages) {
    const connection = byId.get(conn)
    if (connection && !introduced.has(conn)) push(connectionRecord(connection))
    introduced.add(conn)
    offsets.push(at)
    push(record(2, { conn: u32(conn), time: time(sec, nano) }, data))
  }
  return { records: join(parts), offsets }
}

function connectionRecord({ id, topic, type, md5, definition, latching }: Connection): Uint8Array {
  const data = fields({
    topic: ascii(topic),
    type: ascii(type),
    md5sum: ascii(md5 ?? MD5_OF_ANYTHING),
    message_definition: ascii(definition ?? 'uint32 value\n'),
    callerid: ascii('/writer'),
    ...(latching === undefined ? {} : { latching: ascii(latching ? '1' : '0') }),
  })
  return record(7, { conn: u32(id), topic: ascii(topic) }, data)
}

type Entry = Message & { offset: number }

function indexRecord(conn: number, entries: Entry[]): Uint8Array {
  const data = entries.map(({ sec, nano, offset }) => join([time(sec, nano), u32(offset)]))
  return record(4, { ver: u32(1), conn: u32(conn), count: u32(entries.length) }, join(data))
}

function chunkInfo(at: number, byConn: Map<number, Entry[]>): Uint8Array {
  const entries = [...byConn.values()].flat().sort((a, b) => a.sec - b.sec || a.nano - b.nano)
  const [first = { sec: 0, nano: 0 }, last = first] = [entries[0], entries.at(-1)]
  const times = { start_time: time(first.sec, first.nano), end_time: time(last.sec, last.nano) }
  const counts = byConn.entries().map(([conn, { length }]) => join([u32(conn), u32(length)]))
  return record(6, { ver: u32(1), chunk_pos: u64(at), ...times, count: u32(byConn.size) }, join([...counts]))
}

/** Padded with spaces, so that the recorder can write it again when it closes the bag. */
function bagHeader(values: Record<string, Uint8Array>): Uint8Array {
  const empty = record(3, values)
  return record(3, values, new Uint8Array(HEADER_BYTES - empty.length).fill(0x20))
}

export function record(
  op: number,
  values: Record<string, Uint8Array>,
  data: Uint8Array = new Uint8Array(),
): Uint8Array {
  const header = fields({ ...values, op: Uint8Array.of(op) })
  return join([u32(header.length), header, u32(data.length), data])
}

function fields(values: Record<string, Uint8Array>): Uint8Array {
  const parts = Object.entries(values).flatMap(([name, value]) => {
    const field = join([ascii(`${name}=`), value])
    return [u32(field.length), field]
  })
  return join(parts)
}

/** An LZ4 frame whose blocks are stored as they are. */
export function lz4Frame(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82)]
  for (let at = 0; at < bytes.length; at += 65_536) {
    const block = bytes.subarray(at, at + 65_536)
    parts.push(u32(block.length + 2 ** 31), block)
  }
  return join([...parts, u32(0)])
}

export function ascii(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'))
}

export function u32(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer)
}

function u64(value: number): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt(value)).buffer)
}

function time(sec: number, nano: number): Uint8Array {
  return join([u32(sec), u32(nano)])
}

export function join(parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

function size(parts: Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0)
}
