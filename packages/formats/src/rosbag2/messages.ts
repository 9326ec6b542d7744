import { setImmediate } from 'node:timers/promises'
import { splitNs } from '../bytes.ts'
import type { Notes } from '../notes.ts'
import { pickOrigin } from '../origin.ts'
import type { ScanOptions, Visitor } from '../recording.ts'
import type { Bag, MessageRow } from './bag.ts'
import { openContents } from './contents.ts'
import type { Topics } from './topics.ts'

type Place = { bag: Bag; topics: Topics; visitor: Visitor; notes: Notes; options: ScanOptions }
type Timed = MessageRow & { high: number }

/** So many batches take some tens of milliseconds; then others get their turn. */
const BATCHES_IN_A_ROW = 32
const ORIGIN_MESSAGES = 1000

export type Told = {
  messages: number
  /** Rows met, told or not, and the highest id among them. */
  rows: number
  lastId: number
  /** Undefined where there is no message. */
  originNs: bigint | undefined
}

export async function tellMessages({ bag, topics, visitor, notes, options }: Place): Promise<Told> {
  const contents = openContents(bag, notes, options)
  let origin = { high: 0, low: 0 }
  let batches = 0
  const told: Told = { messages: 0, rows: 0, lastId: 0, originNs: undefined }
  for await (const rows of bag.messages()) {
    options.signal.throwIfAborted()
    if (++batches % BATCHES_IN_A_ROW === 0) await setImmediate()
    visitor.progress(0.5 + Math.min((rows.at(-1)?.id ?? 0) / bag.lastId, 1) / 2)
    told.rows += rows.length
    told.lastId = rows.reduce((highest, { id }) => Math.max(highest, id), told.lastId)
    const timed = rows.filter((row) => isTimed(row, notes))
    if (told.originNs === undefined) {
      told.originNs = pickOrigin(timed.slice(0, ORIGIN_MESSAGES).map(toNs))
      if (told.originNs === undefined) continue
      origin = splitNs(told.originNs)
      visitor.origin(told.originNs)
    }
    for (const row of timed) {
      const channel = channelOf(topics, row, notes)
      if (channel === undefined) continue
      const t = (row.high - origin.high) * 4294967296 + (row.low - origin.low)
      if (Math.abs(t) > Number.MAX_SAFE_INTEGER) noteFar(notes, row, t, channel)
      told.messages++
      visitor.message(channel, t, row.bytes)
      const content = contents.isSample(channel, row) ? await contents.of(row) : undefined
      if (content) visitor.content(channel, t, content)
    }
  }
  return told
}

function toNs({ high, low }: Timed): bigint {
  return BigInt(high) * 4294967296n + BigInt(low)
}

function isTimed(row: MessageRow, notes: Notes): row is Timed {
  if (row.high !== undefined) return true
  const detail = () => `the time of message ${row.id} is no integer; such messages are not told`
  notes.add({ code: 'timestamp_invalid', kind: 'type', detail })
  return false
}

function channelOf(topics: Topics, { id, topic }: MessageRow, notes: Notes): number | undefined {
  const channel = topic === undefined ? undefined : topics.get(topic)
  if (channel !== undefined && channel >= 0) return channel
  const why = channel === undefined ? 'which the file does not name' : 'one of too many topics'
  const detail = () => `messages of topic ${topic ?? '(none)'}, ${why}, are not told, the first has id ${id}`
  notes.add({ code: 'messages_undecodable', kind: channel === undefined ? 'unknown' : 'too many', detail })
  return undefined
}

function noteFar(notes: Notes, { id }: MessageRow, t: number, channel: number) {
  const detail = () =>
    `message ${id} is stamped ${t / 1e9} s from the origin; times so far from it are not exact`
  notes.add({ code: 'timestamp_invalid', kind: 'far', detail, channel })
}
