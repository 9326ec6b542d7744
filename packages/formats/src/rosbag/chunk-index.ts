import type { Chunk } from './chunk.ts'
import type { Connections } from './connections.ts'
import { viewOf } from './records.ts'
import { MESSAGE_OVERHEAD_BYTES, type Teller } from './teller.ts'

// Behind a chunk stands, for each connection in it, the time of every message and its offset in the unpacked chunk.
// That tells all of a message but its content, so that most chunks need not be read.

/** `isLie`: the index contradicts itself or its chunk. */
export type Problem = { why: string; isLie: boolean }

export type ChunkIndex = {
  /** Forgets the last chunk. */
  begin(chunk: Chunk): void
  /** Why so many more messages cannot be named; undefined where they can. */
  whyNoRoom(messages: number): Problem | undefined
  /** One record of the index; `data` is 12 bytes for each message. */
  add(conn: number, data: Uint8Array): void
  /** The index is not whole, or not true: the chunk has to tell. */
  spoil(problem: Problem): void
  count(): number
  /** Why the chunk itself must be read; undefined where the index answers. Called before `tell`, once. */
  whyNot(connections: Connections): Problem | undefined
  tell(teller: Teller, connections: Connections): void
}

/** Seconds, nanoseconds, offset. */
export const ENTRY_BYTES = 12
/** Offsets of 32 bits and places in the list share one number of 53 bits, which sorts by the offset. */
const PLACES = 2 ** 21
const ORIGIN_MESSAGES = 1000

export function openChunkIndex(): ChunkIndex {
  let chunk: Chunk = { at: 0, dataAt: 0, dataBytes: 0, sizeBytes: 0, compression: '' }
  let spoiled: Problem | undefined
  let count = 0
  let conns = new Uint32Array(1024)
  let secs = new Uint32Array(1024)
  let nanos = new Uint32Array(1024)
  let order = new Float64Array(1024)

  const grow = (needed: number) => {
    if (needed <= order.length) return
    const length = Math.max(needed, 2 * order.length)
    conns = grown(conns, new Uint32Array(length))
    secs = grown(secs, new Uint32Array(length))
    nanos = grown(nanos, new Uint32Array(length))
    order = grown(order, new Float64Array(length))
  }
  const placeOf = (rank: number) => (order[rank] ?? 0) % PLACES
  const offsetOf = (rank: number) => Math.floor((order[rank] ?? 0) / PLACES)
  const timeOf = (rank: number) => ({ sec: secs[placeOf(rank)] ?? 0, nano: nanos[placeOf(rank)] ?? 0 })
  const connOf = (rank: number) => conns[placeOf(rank)] ?? 0

  function* firstTimes() {
    for (let rank = 0; rank < Math.min(count, ORIGIN_MESSAGES); rank++) yield timeOf(rank)
  }

  return {
    begin(next) {
      chunk = next
      spoiled = undefined
      count = 0
    },
    whyNoRoom(messages) {
      if ((count + messages) * MESSAGE_OVERHEAD_BYTES > chunk.sizeBytes) {
        return { why: `names more messages than ${chunk.sizeBytes} bytes can hold`, isLie: true }
      }
      return count + messages > PLACES ? { why: 'is too long', isLie: false } : undefined
    },
    add(conn, data) {
      const view = viewOf(data)
      grow(count + data.length / ENTRY_BYTES)
      for (let at = 0; at + ENTRY_BYTES <= data.length; at += ENTRY_BYTES) {
        conns[count] = conn
        secs[count] = view.getUint32(at, true)
        nanos[count] = view.getUint32(at + 4, true)
        order[count] = view.getUint32(at + 8, true) * PLACES + count
        count++
      }
    },
    spoil(problem) {
      spoiled ??= problem
    },
    count: () => count,
    whyNot(connections) {
      if (spoiled !== undefined) return spoiled
      if (count === 0) return { why: 'is missing', isLie: false }
      order.subarray(0, count).sort()
      for (let rank = 0; rank < count; rank++) {
        const next = rank + 1 < count ? offsetOf(rank + 1) : chunk.sizeBytes
        if (next - offsetOf(rank) < MESSAGE_OVERHEAD_BYTES) {
          const why = `has a message at offset ${offsetOf(rank)} of ${chunk.sizeBytes}, and the next at ${next}`
          return { why, isLie: true }
        }
        if (connections.channelOf(connOf(rank)) !== undefined) continue
        return { why: `names the unknown connection ${connOf(rank)}`, isLie: false }
      }
      return undefined
    },
    tell(teller, connections) {
      const place = { at: chunk.at, isSound: true }
      teller.offerOrigin(firstTimes())
      if (count > 0) connections.firstRecordBytes(connOf(0))
      for (let rank = 0; rank < count; rank++) {
        const more = rank + 1 < count
        // The record of a connection stands before its first message, so behind the message before that.
        const between = more ? connections.firstRecordBytes(connOf(rank + 1)) : 0
        const end = more ? offsetOf(rank + 1) : chunk.sizeBytes
        const bytes = end - offsetOf(rank) - MESSAGE_OVERHEAD_BYTES
        teller.message(connOf(rank), timeOf(rank), place, bytes >= between ? bytes - between : bytes)
      }
    },
  }
}

function grown<T extends Uint32Array | Float64Array>(from: T, into: T): T {
  into.set(from)
  return into
}
