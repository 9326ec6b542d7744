import { splitNs } from '../bytes.ts'
import {
  type ChunkIndex,
  lengthAt,
  MESSAGE_INDEX_ENTRY_BYTES,
  MESSAGE_INDEX_OVERHEAD_BYTES,
  MESSAGE_OVERHEAD_BYTES,
  opcode,
  RECORD_HEADER_BYTES,
  viewOf,
} from './records.ts'

// Behind each chunk stands, for each of its channels, a list of times and places of messages in the chunk. All lists
// together, ordered by place, are the messages as they were written.

/** The entries of one chunk in columns, which are used again for the next. */
export type MessageIndex = {
  count: number
  ids: Uint16Array
  /** Log times, in two halves. */
  highs: Uint32Array
  lows: Uint32Array
  /** Where the message begins in the uncompressed chunk. */
  offsets: Uint32Array
  /** Numbers of entries, in the order of their offsets. */
  order: Uint32Array
  /** Room to sort in. */
  keys: Float64Array
}

export function makeMessageIndex(room = 4096): MessageIndex {
  return {
    count: 0,
    ids: new Uint16Array(room),
    highs: new Uint32Array(room),
    lows: new Uint32Array(room),
    offsets: new Uint32Array(room),
    order: new Uint32Array(room),
    keys: new Float64Array(room),
  }
}

/** Takes in the records behind one chunk. Returns what is wrong with them, if anything is. */
export function loadMessageIndex(
  into: MessageIndex,
  bytes: Uint8Array,
  chunk: ChunkIndex,
): string | undefined {
  into.count = 0
  const room = Math.floor(bytes.length / MESSAGE_INDEX_ENTRY_BYTES)
  if (room > into.ids.length) Object.assign(into, makeMessageIndex(Math.ceil(room * 1.5)))
  return fill(into, bytes, chunk) ?? arrange(into, chunk)
}

function fill(into: MessageIndex, bytes: Uint8Array, chunk: ChunkIndex): string | undefined {
  const view = viewOf(bytes)
  const bytesAt = chunk.chunkAt + chunk.chunkBytes
  const expectedAt = chunk.indexOffsets()
  let records = 0
  for (let at = 0; at < bytes.length; records++) {
    const listAt = at + MESSAGE_INDEX_OVERHEAD_BYTES
    if (listAt > bytes.length || bytes[at] !== opcode.messageIndex) {
      return `no message index stands at byte ${bytesAt + at}`
    }
    const end = at + RECORD_HEADER_BYTES + lengthAt(view, at + 1)
    const id = view.getUint16(at + RECORD_HEADER_BYTES, true)
    const listEnd = listAt + view.getUint32(listAt - 4, true)
    if (end > bytes.length || listEnd > end || (listEnd - listAt) % MESSAGE_INDEX_ENTRY_BYTES !== 0) {
      return `the message index of channel ${id} at byte ${bytesAt + at} does not fit into its place`
    }
    if (expectedAt.get(id) !== bytesAt + at) {
      return `the message index of channel ${id} at byte ${bytesAt + at} is not the one of the chunk index`
    }
    const problem = fillList(into, view, id, listAt, listEnd, chunk.uncompressedBytes)
    if (problem) return `${problem}, by the message index of channel ${id} at byte ${bytesAt + at}`
    at = end
  }
  const expected = expectedAt.size
  if (records === expected) return undefined
  return `${records} message indexes stand at byte ${bytesAt}, the chunk index names ${expected}`
}

function fillList(
  into: MessageIndex,
  view: DataView,
  id: number,
  listAt: number,
  listEnd: number,
  chunkBytes: number,
): string | undefined {
  const { ids, highs, lows, offsets } = into
  let { count } = into
  for (let at = listAt; at < listEnd; at += MESSAGE_INDEX_ENTRY_BYTES) {
    const offset = view.getUint32(at + 8, true)
    if (offset + MESSAGE_OVERHEAD_BYTES > chunkBytes || view.getUint32(at + 12, true) !== 0) {
      return `a message begins at ${lengthAt(view, at + 8)} of a chunk of ${chunkBytes} bytes`
    }
    ids[count] = id
    lows[count] = view.getUint32(at, true)
    highs[count] = view.getUint32(at + 4, true)
    offsets[count] = offset
    count++
  }
  into.count = count
  return undefined
}

/** Sorts by offset, and checks that no two messages share a place and that all lie in the time of the chunk. */
function arrange(into: MessageIndex, chunk: ChunkIndex): string | undefined {
  const { count, highs, lows, offsets, order, keys } = into
  // Offset and number in one double each, so that they sort natively: both together have to fit into 53 bits.
  const scale = 2 ** Math.ceil(Math.log2(count + 1))
  if (chunk.uncompressedBytes * scale > Number.MAX_SAFE_INTEGER) {
    return `the chunk at byte ${chunk.chunkAt} says that it holds ${chunk.uncompressedBytes} bytes`
  }
  for (let entry = 0; entry < count; entry++) keys[entry] = (offsets[entry] ?? 0) * scale + entry
  keys.subarray(0, count).sort()
  const start = splitNs(chunk.startNs)
  const end = splitNs(chunk.endNs)
  let nextOffset = 0
  for (let n = 0; n < count; n++) {
    const entry = (keys[n] ?? 0) % scale
    const offset = offsets[entry] ?? 0
    const high = highs[entry] ?? 0
    const low = lows[entry] ?? 0
    if (offset < nextOffset) return `two messages begin at ${offset} of the chunk at byte ${chunk.chunkAt}`
    if (high < start.high || high > end.high) return outside(chunk)
    if ((high === start.high && low < start.low) || (high === end.high && low > end.low))
      return outside(chunk)
    order[n] = entry
    nextOffset = offset + MESSAGE_OVERHEAD_BYTES
  }
  return undefined
}

function outside({ chunkAt, startNs, endNs }: ChunkIndex): string {
  return `a message of the chunk at byte ${chunkAt} is stamped outside of ${startNs} to ${endNs}`
}
