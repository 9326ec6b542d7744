import { splitNs } from '../bytes.ts'
import type { Notes } from '../notes.ts'
import type { Visitor } from '../recording.ts'
import type { Definitions } from './definitions.ts'
import type { Channel } from './records.ts'

// What both scans tell the visitor through: it knows when the origin is due and which channels were introduced.

/** Larger messages are told without their content. */
export const MAX_CONTENT_BYTES = 16 * 2 ** 20
const CHANNEL_IDS = 65_536

export type Teller = {
  /** The origin, if the first message is near it; else that message is. */
  expectOrigin(ns: bigint): void
  originNs(): bigint | undefined
  /** The log time in two halves; the content where it is at hand. */
  message(id: number, high: number, low: number, bytes: number, content: Uint8Array | undefined): void
  /** Channels without a message, at the end. */
  introduceRest(): void
  /** Messages met, told or not, of each channel id and of all. */
  metOf(id: number): number
  met(): number
}

export function openTeller(visitor: Visitor, definitions: Definitions, notes: Notes): Teller {
  const numbers = new Int32Array(CHANNEL_IDS).fill(-1)
  const counts = new Float64Array(CHANNEL_IDS)
  let met = 0
  let expectedNs: bigint | undefined
  let originNs: bigint | undefined
  let origin = { high: 0, low: 0 }
  return {
    expectOrigin(ns) {
      expectedNs = ns
    },
    originNs: () => originNs,
    message(id, high, low, bytes, content) {
      counts[id] = (counts[id] ?? 0) + 1
      met++
      let number = numbers[id] ?? -1
      if (number < 0) {
        const channel = definitions.findChannel(id)
        if (!channel) return noteUndefined(notes, id)
        number = introduce(visitor, channel, definitions, notes)
        numbers[id] = number
      }
      if (originNs === undefined) {
        originNs = chooseOrigin((BigInt(high) << 32n) | BigInt(low), expectedNs)
        origin = splitNs(originNs)
        visitor.origin(originNs)
      }
      const t = (high - origin.high) * 4294967296 + (low - origin.low)
      if (!isExact(t)) noteFar(notes, number, t)
      visitor.message(number, t, bytes)
      if (content && content.length <= MAX_CONTENT_BYTES) visitor.content(number, t, content)
    },
    introduceRest() {
      for (const channel of definitions.channels()) {
        if ((numbers[channel.id] ?? -1) < 0) introduce(visitor, channel, definitions, notes)
      }
    },
    metOf: (id) => counts[id] ?? 0,
    met: () => met,
  }
}

function noteUndefined(notes: Notes, id: number): void {
  const detail = () => `messages of channel id ${id} are not told: no such channel was read`
  notes.add({ code: 'messages_undecodable', kind: 'undefined', detail })
}

function introduce(visitor: Visitor, channel: Channel, definitions: Definitions, notes: Notes): number {
  const { topic, schemaId, encoding, latched } = channel
  const schema = definitions.findSchema(schemaId)
  const number = visitor.channel({
    topic,
    schema: schema?.name ?? '',
    schemaEncoding: schema?.encoding ?? '',
    schemaData: schema?.data ?? new Uint8Array(),
    encoding,
    ...(latched ? { latched } : {}),
  })
  if (!schema && schemaId !== 0) {
    const detail = () =>
      `channel '${topic}' refers to schema ${schemaId}, and no such schema was read; its messages are counted but ` +
      'cannot be decoded'
    notes.add({ code: 'schema_missing', kind: 'undefined', detail, channel: number })
  }
  return number
}

/** Statistics may be wrong, or right about one stray message of 1970: then all other times would be inexact. */
function chooseOrigin(firstNs: bigint, expectedNs: bigint | undefined): bigint {
  return expectedNs !== undefined && isExact(Number(firstNs - expectedNs)) ? expectedNs : firstNs
}

function isExact(t: number): boolean {
  return t <= Number.MAX_SAFE_INTEGER && t >= -Number.MAX_SAFE_INTEGER
}

function noteFar(notes: Notes, channel: number, t: number): void {
  const detail = () =>
    `a message is stamped ${t / 1e9} s from the origin of the recording, too far to be exact`
  notes.add({ code: 'timestamp_invalid', kind: 'far', detail, channel })
}
