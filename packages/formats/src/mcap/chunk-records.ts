import type { MessageIndex } from './message-index.ts'
import {
  lengthAt,
  MESSAGE_FIXED_BYTES,
  MESSAGE_OVERHEAD_BYTES,
  opcode,
  RECORD_HEADER_BYTES,
  viewOf,
} from './records.ts'
import type { Scan } from './scan.ts'

export type Told = {
  messages: number
  /** Where records stop making sense, or the end. */
  end: number
  /** Whether the index names the same messages. */
  agrees: boolean
}

/** Tells the messages of an open chunk, with their contents; the chunk stands at `chunkAt` of the file. */
export function tellRecords(
  { definitions, teller }: Scan,
  records: Uint8Array,
  chunkAt: number,
  index?: MessageIndex,
): Told {
  const view = viewOf(records)
  let messages = 0
  let agrees = true
  let at = 0
  while (at + RECORD_HEADER_BYTES <= records.length) {
    const bodyAt = at + RECORD_HEADER_BYTES
    const end = bodyAt + lengthAt(view, at + 1)
    const kind = records[at]
    if (kind === 0 || end > records.length) break
    if (kind === opcode.message) {
      if (end < bodyAt + MESSAGE_FIXED_BYTES) break
      const id = view.getUint16(bodyAt, true)
      const low = view.getUint32(bodyAt + 6, true)
      const high = view.getUint32(bodyAt + 10, true)
      if (index && !isEntry(index, messages, id, high, low, at)) agrees = false
      const bytes = end - bodyAt - MESSAGE_FIXED_BYTES
      const contentAt = records.byteOffset + bodyAt + MESSAGE_FIXED_BYTES
      teller.message(id, high, low, bytes, new Uint8Array(records.buffer, contentAt, bytes))
      messages++
    } else if (kind === opcode.schema) definitions.schema(records.subarray(bodyAt, end), chunkAt)
    else if (kind === opcode.channel) definitions.channel(records.subarray(bodyAt, end), chunkAt)
    at = end
  }
  return { messages, end: at, agrees: agrees && (!index || index.count === messages) }
}

function isEntry(index: MessageIndex, n: number, id: number, high: number, low: number, at: number): boolean {
  const entry = n < index.count ? (index.order[n] ?? 0) : -1
  return (
    index.offsets[entry] === at &&
    index.ids[entry] === id &&
    index.highs[entry] === high &&
    index.lows[entry] === low
  )
}

/**
 * Tells the messages of a closed chunk. How long they are is not in the index: each is taken to reach to the next, so
 * other records between two messages count to the first.
 */
export function tellEntries({ teller }: Scan, index: MessageIndex, uncompressedBytes: number): void {
  const { count, order, ids, highs, lows, offsets } = index
  for (let n = 0; n < count; n++) {
    const entry = order[n] ?? 0
    const end = n + 1 < count ? (offsets[order[n + 1] ?? 0] ?? 0) : uncompressedBytes
    const bytes = Math.max(0, end - (offsets[entry] ?? 0) - MESSAGE_OVERHEAD_BYTES)
    teller.message(ids[entry] ?? 0, highs[entry] ?? 0, lows[entry] ?? 0, bytes, undefined)
  }
}

/** A chunk whose bytes are right, as far as can be told, and whose records are not. */
export function noteBroken({ notes }: Scan, chunkAt: number, end: number, bytes: number, ns: bigint): void {
  const detail = () =>
    `the records in the chunk at byte ${chunkAt} break off at ${end} of ${bytes} bytes; what is behind is lost`
  notes.add({ code: 'chunk_corrupt', kind: 'records', detail, ns })
}

/** A chunk that is not damaged, but beyond what is read. */
export function noteUnreadable({ notes }: Scan, chunkAt: number, problem: string, ns: bigint): void {
  const detail = () => `the chunk at byte ${chunkAt} ${problem}`
  notes.add({ code: 'messages_undecodable', kind: 'chunk', detail, ns })
}
