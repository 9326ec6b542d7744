import type { FileHandle } from 'node:fs/promises'
import { MAX_SCHEMA_BYTES, type ScanOptions } from '../recording.ts'
import { type Bag, type DefinitionRow, MAX_TEXT_BYTES, type MessageRow, type TopicRow } from './bag.ts'
import { type Cell, cellsOf, integerOf, readCell } from './cells.ts'
import type { Header } from './header.ts'

// A damaged database. SQLite gives up at the first broken page that it comes by, and may be led in circles; so every
// page is looked at by itself, in the order of the file. Rows are told apart by the types of their columns.

const BLOCK_BYTES = 1 << 20
/** What a row takes besides the content of its message. */
const MAX_ROW_BYTES = 64
const ENCODINGS = ['ros2msg', 'ros2idl', 'unknown']

export function openDamaged(file: FileHandle, header: Header, { signal }: ScanOptions): Bag {
  const { sizeBytes, pageBytes, usableBytes } = header

  async function* cellsByBlock(): AsyncIterable<Cell[]> {
    for (let blockAt = 0; blockAt < sizeBytes; blockAt += BLOCK_BYTES) {
      signal.throwIfAborted()
      const block = await readAt(file, blockAt, Math.min(BLOCK_BYTES, sizeBytes - blockAt))
      const cells: Cell[] = []
      for (let at = 0; at < block.length; at += pageBytes) {
        cells.push(...cellsOf(block.subarray(at, at + pageBytes), blockAt + at, usableBytes))
      }
      yield cells
    }
  }

  /** The values of a row of texts, without its id. */
  async function textsOf(cell: Cell, maxBytes: number): Promise<Uint8Array[]> {
    if (cell.columns.length < 4 || cell.columns.slice(1).some(({ kind }) => kind !== 'text')) return []
    const payload = await payloadOf(file, header, cell, maxBytes)
    return payload ? cell.columns.slice(1).map(({ from, bytes }) => payload.slice(from, from + bytes)) : []
  }

  async function* textRows(maxBytes: number) {
    for await (const cells of cellsByBlock()) {
      for (const cell of cells) {
        const texts = await textsOf(cell, maxBytes)
        if (texts.length > 0) yield { id: cell.id, texts }
      }
    }
  }

  return {
    isByPages: true,
    sizeBytes,
    // A guess: rows of sensors take a page each, more or less.
    lastId: Math.ceil(sizeBytes / pageBytes),
    isDefining: false,
    async *topics(): AsyncIterable<TopicRow> {
      for await (const { id, texts } of textRows(4 * MAX_TEXT_BYTES)) {
        const [name, type, encoding, qos = new Uint8Array()] = texts
        if (name && type && encoding && !isDefinition(texts)) yield { id, name, type, encoding, qos }
      }
    },
    async *definitions(): AsyncIterable<DefinitionRow> {
      for await (const { texts } of textRows(MAX_SCHEMA_BYTES + MAX_TEXT_BYTES)) {
        const [type, encoding, data] = texts
        if (type && encoding && data && isDefinition(texts)) yield { type, encoding, data }
      }
    },
    async *messages(): AsyncIterable<MessageRow[]> {
      for await (const cells of cellsByBlock()) yield cells.flatMap(toMessage)
    },
    async contentOf({ at, bytes }) {
      const pageAt = at - (at % pageBytes)
      const page = await readAt(file, pageAt, Math.min(usableBytes, sizeBytes - pageAt))
      const cell = readCell(page, at - pageAt, usableBytes)
      const payload = cell && (await payloadOf(file, header, cell, bytes + MAX_ROW_BYTES))
      return payload?.subarray(payload.length - bytes)
    },
    close: () => file.close(),
  }
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at)
  return buffer.subarray(0, bytesRead)
}

/** Follows the chain of pages for as long as the payload is, so that a chain in a circle ends too. */
async function payloadOf(
  file: FileHandle,
  { pageBytes, usableBytes, sizeBytes }: Header,
  { local, next, payloadBytes }: Cell,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (payloadBytes > Math.min(maxBytes, sizeBytes)) return undefined
  if (next === 0) return local
  const payload = new Uint8Array(payloadBytes)
  payload.set(local)
  let page = next
  for (let at = local.length; at < payloadBytes; ) {
    const pageAt = (page - 1) * pageBytes
    const bytes = Math.min(payloadBytes - at, usableBytes - 4)
    if (page < 1 || pageAt + 4 + bytes > sizeBytes) return undefined
    const content = await readAt(file, pageAt, 4 + bytes)
    payload.set(content.subarray(4), at)
    page = content.readUInt32BE(0)
    at += bytes
  }
  return payload
}

/** Both are rows of five texts in some version; only a definition has its encoding second. */
function isDefinition(texts: Uint8Array[]): boolean {
  return texts.length === 4 && ENCODINGS.includes(Buffer.from(texts[1] ?? []).toString('latin1'))
}

/** One row, or none where the cell is of another table. */
function toMessage(cell: Cell): MessageRow[] {
  const [id, topic, time, data] = cell.columns
  if (cell.columns.length !== 4 || !id || topic?.kind !== 'integer' || time?.kind !== 'integer') return []
  if (data?.kind !== 'blob') return []
  const { high: topicHigh, low: topicId } = integerOf(cell, topic)
  const { high, low } = integerOf(cell, time)
  const row = { id: cell.id, high, low, bytes: data.bytes, at: cell.at }
  return [{ ...row, topic: topicHigh === 0 ? topicId : undefined }]
}
