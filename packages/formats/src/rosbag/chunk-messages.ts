import { type Connections, describe } from './connections.ts'
import { op, parseFields, viewOf } from './records.ts'
import { anyOp, searchRecord } from './search.ts'
import type { Instant, Teller } from './teller.ts'

// The records inside an unpacked chunk: connections and messages. Where one breaks, the next is searched for.

/** `damage`: where in the chunk records broke, and how many bytes were passed over in all. */
export type InChunk = { messages: number; damage: { at: number; bytes: number } | undefined }

type Message = Instant & { conn: number; from: number; end: number }

/** Of the first messages, to choose the origin from. */
const ORIGIN_MESSAGES = 1000

export function tellChunk(
  bytes: Uint8Array,
  { chunkAt, isSound }: { chunkAt: number; isSound: boolean },
  { teller, connections }: { teller: Teller; connections: Connections },
): InChunk {
  if (teller.originNs() === undefined) teller.offerOrigin(firstTimes(bytes))
  const result: InChunk = { messages: 0, damage: undefined }
  const view = viewOf(bytes)
  const message: Message = { conn: 0, sec: 0, nano: 0, from: 0, end: 0 }
  for (let at = 0; at < bytes.length; at = message.end) {
    const kind = readMessage(view, at, message)
    if (kind === op.message) {
      result.messages++
      const content = bytes.subarray(message.from, message.end)
      teller.message(message.conn, message, { at: chunkAt, isSound }, content.length, content)
    } else if (kind === op.connection) {
      addConnection(bytes, at, message, { chunkAt, connections })
    } else {
      message.end = searchRecord(bytes, { from: at + 1, ops: anyOp, left: bytes.length }) ?? bytes.length
      result.damage ??= { at, bytes: 0 }
      result.damage.bytes += message.end - at
    }
  }
  return result
}

function* firstTimes(bytes: Uint8Array): Iterable<Instant> {
  const view = viewOf(bytes)
  const message: Message = { conn: 0, sec: 0, nano: 0, from: 0, end: 0 }
  for (let at = 0, count = 0; at < bytes.length && count < ORIGIN_MESSAGES; at = message.end) {
    const kind = readMessage(view, at, message)
    if (kind === undefined) return
    if (kind !== op.message) continue
    yield { sec: message.sec, nano: message.nano }
    count++
  }
}

/** The first bytes of the fields, as the numbers that they are: 'op=', 'conn', 'time'. */
const OP = 0x3d706f
const CONN = 0x6e6e6f63
const TIME = 0x656d6974

/**
 * The op of the record at `at`; undefined where none stands there that belongs into a chunk. This runs for every
 * message, so it fills one object and makes no map of the fields.
 */
function readMessage(view: DataView, at: number, into: Message): number | undefined {
  if (at + 8 > view.byteLength) return undefined
  const headerEnd = at + 4 + view.getUint32(at, true)
  if (headerEnd + 4 > view.byteLength) return undefined
  into.from = headerEnd + 4
  into.end = into.from + view.getUint32(headerEnd, true)
  if (into.end > view.byteLength) return undefined
  let kind: number | undefined
  let found = 0
  for (let field = at + 4; field < headerEnd; ) {
    if (field + 8 > headerEnd) return undefined
    const length = view.getUint32(field, true)
    const name = view.getUint32(field + 4, true)
    if (length < 2 || length > headerEnd - field - 4) return undefined
    if (length === 4 && (name & 0xffffff) === OP) kind = name >>> 24
    else if (length === 9 && name === CONN) {
      into.conn = view.getUint32(field + 9, true)
      found |= 1
    } else if (length === 13 && name === TIME) {
      into.sec = view.getUint32(field + 9, true)
      into.nano = view.getUint32(field + 13, true)
      found |= 2
    }
    field += 4 + length
  }
  if (kind === op.message) return found === 3 ? kind : undefined
  return kind === op.connection && found & 1 ? kind : undefined
}

function addConnection(
  bytes: Uint8Array,
  at: number,
  { conn, from, end }: Message,
  { chunkAt, connections }: { chunkAt: number; connections: Connections },
) {
  const header = parseFields(bytes, at + 4, from - 4)
  const data = parseFields(bytes, from, end)
  if (!header || !data) return
  connections.add(conn, describe(header, data), { at: chunkAt, recordBytes: end - at })
  connections.firstRecordBytes(conn)
}
