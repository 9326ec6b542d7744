import { MAX_CHUNK_BYTES, type Source } from '../recording.ts'
import { openChunk, storedFits, storedOf } from './chunk.ts'
import { noteBroken, noteUnreadable, tellEntries, tellRecords } from './chunk-records.ts'
import { holding } from './ends.ts'
import { scanLinear } from './linear-scan.ts'
import { loadMessageIndex, type MessageIndex, makeMessageIndex } from './message-index.ts'
import { fetchRanges, type Range } from './ranges.ts'
import {
  type ChunkIndex,
  lengthAt,
  opcode,
  parseChunkHeader,
  RECORD_HEADER_BYTES,
  viewOf,
} from './records.ts'
import type { Scan } from './scan.ts'
import type { Summary } from './summary.ts'

// Messages by their indexes: of each chunk only what stands behind it is read. Every 20th chunk is opened too, for the
// contents and to hold the index against; whatever lies between chunks is read as it is. At the first disagreement the
// rest of the file is left to the linear scan.

const SAMPLED_EVERY = 20
/** Behind one chunk: room for two million messages. What is longer is not believed, and the chunk read instead. */
const MAX_INDEX_BYTES = 32 * 2 ** 20

/** What was read and could not be told by the index is kept for the linear scan, if it is not larger than this. */
const MAX_HELD_BYTES = 32 * 2 ** 20

/** Where the linear scan has to go on, and the source to go on with: it holds what was read there already. */
export type Left = { at: number; source: Source }

export async function scanIndexed(scan: Scan, summary: Summary, recordsAt: number): Promise<Left> {
  const pieces = fetchRanges(scan.source, wantedRanges(summary, scan.contents))
  const index = makeMessageIndex()
  let at = recordsAt
  for (let n = 0; n < summary.chunkCount; n++) {
    scan.signal.throwIfAborted()
    const chunk = summary.chunkIndex(n)
    const { value: piece } = await pieces.next()
    if (!chunk || !piece) break
    if (chunk.chunkAt > at) await scanLinear(scan, { from: at, to: chunk.chunkAt })
    at = chunk.chunkAt + chunk.chunkBytes + chunk.indexBytes
    const outcome = await tellChunk(scan, chunk, index, piece)
    const held = piece.length <= MAX_HELD_BYTES
    const source = held ? holding(scan.source, at - piece.length, piece) : scan.source
    if (outcome === 'refused') return { at: chunk.chunkAt, source }
    if (outcome === 'unindexed') await scanLinear({ ...scan, source }, { from: chunk.chunkAt, to: at })
    if (outcome === 'distrusted') break
    scan.progress(at)
  }
  return { at, source: scan.source }
}

/** The message indexes of each chunk, and the chunk before them where it is opened. */
function* wantedRanges(summary: Summary, contents: boolean): Generator<Range> {
  for (let n = 0; n < summary.chunkCount; n++) {
    const chunk = summary.chunkIndex(n)
    if (!chunk) return
    const { chunkAt, chunkBytes, indexBytes } = chunk
    const sampled = contents && (n % SAMPLED_EVERY === 0 || n === summary.chunkCount - 1)
    if (indexBytes > MAX_INDEX_BYTES) yield { offset: chunkAt + chunkBytes + indexBytes, length: 0 }
    else if (sampled && isReadable(chunk)) yield { offset: chunkAt, length: chunkBytes + indexBytes }
    else yield { offset: chunkAt + chunkBytes, length: indexBytes }
  }
}

function isReadable({ chunkBytes, uncompressedBytes }: ChunkIndex): boolean {
  return chunkBytes <= MAX_CHUNK_BYTES && uncompressedBytes <= MAX_CHUNK_BYTES
}

type Outcome =
  | 'told'
  /** Told as far as it can be, and the index is not to be gone by further. */
  | 'distrusted'
  /** Not told: there is no index to go by. */
  | 'unindexed'
  /** Not told: the index is wrong. */
  | 'refused'

async function tellChunk(
  scan: Scan,
  chunk: ChunkIndex,
  index: MessageIndex,
  piece: Uint8Array,
): Promise<Outcome> {
  const { chunkAt, chunkBytes, indexBytes, uncompressedBytes, startNs } = chunk
  if (indexBytes > MAX_INDEX_BYTES) return 'unindexed'
  const problem = loadMessageIndex(index, piece.subarray(piece.length - indexBytes), chunk)
  if (problem) {
    const detail = () => `${problem}; the file is read without its index from there on`
    scan.notes.add({ code: 'index_mismatch', kind: 'message index', detail, ns: startNs })
    return 'refused'
  }
  if (index.count === 0) return 'unindexed'
  const sampled = piece.length > indexBytes
  if (isReadable(chunk) && (sampled || !allDefined(scan, index))) {
    const record = sampled ? piece.subarray(0, chunkBytes) : await scan.source.read(chunkAt, chunkBytes)
    return tellOpened(scan, chunk, index, record)
  }
  tellEntries(scan, index, uncompressedBytes)
  return 'told'
}

/** Where the summary does not repeat the channels, only the chunk itself tells what its ids mean. */
function allDefined({ definitions }: Scan, { count, ids }: MessageIndex): boolean {
  let last = -1
  for (let entry = 0; entry < count; entry++) {
    const id = ids[entry] ?? 0
    if (id !== last && !definitions.findChannel(id)) return false
    last = id
  }
  return true
}

async function tellOpened(
  scan: Scan,
  chunk: ChunkIndex,
  index: MessageIndex,
  record: Uint8Array,
): Promise<Outcome> {
  const { chunkAt, chunkBytes, uncompressedBytes, startNs } = chunk
  const body = record.subarray(RECORD_HEADER_BYTES)
  const header = record[0] === opcode.chunk ? parseChunkHeader(body) : undefined
  const framed = lengthAt(viewOf(record), 1) === body.length
  if (!framed || header?.uncompressedBytes !== uncompressedBytes || !storedFits(header, body)) {
    const detail = () =>
      `the chunk index names a chunk of ${chunkBytes} bytes at byte ${chunkAt}, holding ${uncompressedBytes}, and ` +
      'that is not what stands there'
    scan.notes.add({ code: 'index_mismatch', kind: 'chunk', detail, ns: startNs })
    return 'refused'
  }
  const opened = await openChunk(header, storedOf(header, body), scan.lz4)
  if (opened.kind === 'corrupt') return 'refused'
  if (opened.kind === 'unreadable') {
    noteUnreadable(scan, chunkAt, opened.problem, startNs)
    tellEntries(scan, index, uncompressedBytes)
    return 'told'
  }
  const told = tellRecords(scan, opened.records, chunkAt, index)
  if (told.end < opened.records.length) noteBroken(scan, chunkAt, told.end, opened.records.length, startNs)
  if (told.agrees) return 'told'
  const detail = () =>
    `the message indexes behind the chunk at byte ${chunkAt} name ${index.count} messages, and the ${told.messages} ` +
    'in it are not the same; the file is read without its index from there on'
  scan.notes.add({ code: 'index_mismatch', kind: 'content', detail, ns: startNs })
  return 'distrusted'
}
