import type { Window } from '../bytes.ts'
import type { Notes } from '../notes.ts'
import { MAX_SCHEMA_BYTES, type ScanOptions } from '../recording.ts'
import { type Connections, describe } from './connections.ts'
import { type BagRecord, type Fields, op, parseFields, readRecord, timeOf, u32Of, viewOf } from './records.ts'
import type { Instant } from './teller.ts'

// Behind the chunks stand all connections again, and for each chunk its times and counts.

export type BagIndex = {
  chunks: number
  messages: number
  /** When the first chunks end. */
  times: Instant[]
  /** Whether it was read to the end of the file. */
  whole: boolean
}

/** A definition, and what else a connection says of itself. */
const MAX_CONNECTION_BYTES = MAX_SCHEMA_BYTES + (1 << 16)
const MAX_TIMES = 1000

/** Undefined where no index begins at `from`. */
export async function readBagIndex(
  window: Window,
  from: number,
  { connections, notes }: { connections: Connections; notes: Notes },
  { signal }: ScanOptions,
): Promise<BagIndex | undefined> {
  const index: BagIndex = { chunks: 0, messages: 0, times: [], whole: true }
  let at = from
  while (at < window.size) {
    signal.throwIfAborted()
    const record = await readRecord(window, at)
    const known = 'op' in record && (record.op === op.connection || record.op === op.chunkInfo)
    if (!known || record.end > window.size) {
      if (at === from) return undefined
      const problem = 'op' in record ? `op ${record.op} and ${record.dataBytes} bytes` : record.why
      const isCut = 'op' in record ? known : record.problem === 'short'
      const detail = () => `the index is read to byte ${at} of ${window.size}, where it breaks: ${problem}`
      notes.add({ code: isCut ? 'recording_truncated' : 'index_mismatch', kind: 'broken', detail })
      return { ...index, whole: false }
    }
    if (record.op === op.connection) await readConnection(window, record, { connections, notes })
    else await readChunkInfo(window, record, index)
    at = record.end
  }
  return index
}

export async function readConnection(
  window: Window,
  { at, end, dataAt, dataBytes, fields }: BagRecord,
  { connections, notes }: { connections: Connections; notes: Notes },
) {
  const header: Fields = new Map([...fields].map(([name, value]) => [name, value.slice()]))
  const conn = u32Of(header, 'conn')
  const data = dataBytes <= MAX_CONNECTION_BYTES ? await window.at(dataAt, dataBytes) : undefined
  const parsed = data && parseFields(data, 0, data.length)
  if (conn !== undefined && parsed) {
    return connections.add(conn, describe(header, parsed), { at, recordBytes: end - at })
  }
  const detail = () => `the connection at byte ${at}, of ${dataBytes} bytes, cannot be read`
  notes.add({ code: 'chunk_corrupt', kind: 'connection', detail })
}

async function readChunkInfo(window: Window, { fields, dataAt, dataBytes }: BagRecord, index: BagIndex) {
  index.chunks++
  const end = timeOf(fields, 'end_time')
  if (end && index.times.length < MAX_TIMES) index.times.push(end)
  // In pieces, because a chunk may name any number of connections.
  for (let at = 0; at < dataBytes; at += 1 << 14) {
    const counts = viewOf(await window.at(dataAt + at, Math.min(1 << 14, dataBytes - at)))
    for (let i = 4; i + 4 <= counts.byteLength; i += 8) index.messages += counts.getUint32(i, true)
  }
}
