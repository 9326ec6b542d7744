import type { Notes } from '../notes.ts'
import { pickOrigin } from '../origin.ts'
import type { Visitor } from '../recording.ts'
import type { ConnectionId, Connections } from './connections.ts'

// All messages go through here, from an index, a chunk or the open file. Times are two 32-bit numbers, seconds and
// nanoseconds.

export type Instant = { sec: number; nano: number }

/** Where a message stands in the file, or its chunk does, and whether that chunk was unpacked without a fault. */
export type Place = { at: number; isSound: boolean }

export type Teller = {
  /** Times from all over the bag, where an index has them. */
  expect(times: Instant[]): void
  /** The first messages, to choose the origin from. */
  offerOrigin(times: Iterable<Instant>): void
  message(id: ConnectionId, time: Instant, place: Place, bytes: number, content?: Uint8Array): void
  /** Messages met, told or not. */
  met(): number
  originNs(): bigint | undefined
}

const MAX_CONTENT_BYTES = 16 * 2 ** 20
/** A message's record without its data, as every known writer makes it: the fields op, conn and time. */
export const MESSAGE_OVERHEAD_BYTES = 46

export function openTeller(visitor: Visitor, connections: Connections, notes: Notes): Teller {
  let expectedNs: bigint[] | undefined
  let origin: Instant | undefined
  let met = 0

  const begin = (ns: bigint): Instant => {
    visitor.origin(ns)
    origin = { sec: Number(ns / 1_000_000_000n), nano: Number(ns % 1_000_000_000n) }
    return origin
  }

  return {
    expect(times) {
      expectedNs = times.map(toNs)
    },
    offerOrigin(times) {
      if (origin !== undefined) return
      const candidatesNs = [...times].map(toNs)
      const ns = pickOrigin(candidatesNs, expectedNs) ?? (expectedNs && pickOrigin(expectedNs))
      if (ns !== undefined) begin(ns)
    },
    message(id, time, { at, isSound }, bytes, content) {
      met++
      const channel = connections.channelOf(id)
      if (channel === undefined || channel < 0) return noteUntold(notes, id, at, channel)
      const from = origin ?? begin(toNs(time))
      const t = (time.sec - from.sec) * 1e9 + (time.nano - from.nano)
      const isFar = Math.abs(t) > Number.MAX_SAFE_INTEGER
      if (time.nano >= 1e9 || isFar) noteTime(notes, time, t, at, channel)
      // In what came out of a broken chunk such a time is noise.
      if (isFar && !isSound) return
      visitor.message(channel, t, bytes)
      if (content && content.length <= MAX_CONTENT_BYTES) visitor.content(channel, t, content)
    },
    met: () => met,
    originNs: () => origin && toNs(origin),
  }
}

function noteUntold(notes: Notes, id: ConnectionId, at: number, channel: number | undefined) {
  const why =
    channel === undefined ? 'which no readable record of the file defines' : 'one of too many channels'
  const detail = () => `messages of connection ${id}, ${why}, are not told, the first at byte ${at}`
  notes.add({ code: 'messages_undecodable', kind: channel === undefined ? 'unknown' : 'too many', detail })
}

function noteTime(notes: Notes, { sec, nano }: Instant, t: number, at: number, channel: number) {
  const wrong = nano >= 1e9 ? 'has more nanoseconds than a second' : `is ${t / 1e9} s from the origin`
  const detail = () => `a message at byte ${at} is stamped ${sec} s ${nano} ns, which ${wrong}`
  notes.add({ code: 'timestamp_invalid', kind: nano >= 1e9 ? 'nanoseconds' : 'far', detail, channel })
}

function toNs({ sec, nano }: Instant): bigint {
  return BigInt(sec) * 1_000_000_000n + BigInt(nano)
}
