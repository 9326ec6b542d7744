import { crc32 } from 'node:zlib'
import type { Notes } from '../notes.ts'
import { MAX_CHUNK_BYTES, type Source } from '../recording.ts'
import type { Definitions } from './definitions.ts'
import { magicBytes } from './magic.ts'
import {
  type ChunkIndex,
  DATA_END_BYTES,
  FOOTER_BYTES,
  lengthAt,
  MAGIC,
  opcode,
  parseChunkIndex,
  parseStatistics,
  RECORD_HEADER_BYTES,
  type Statistics,
  viewOf,
} from './records.ts'

// The end of a file: the data, a DataEnd record, the summary, the footer that says where the summary begins, the magic.
// A summary that is not sound in every byte is not used at all: the data itself says the same.

export type Summary = {
  /** Where it begins in the file. */
  at: number
  /** Of the data before it; 0 where the writer made none. */
  dataCrc: number
  statistics: Statistics | undefined
  chunkCount: number
  /** In the order of the file. Parsed when asked for, since there are as many as chunks. */
  chunkIndex(n: number): ChunkIndex | undefined
}

/** Why the file's own index cannot be used. */
export type Trouble = { code: 'index_missing' | 'index_mismatch'; detail: string }

export type Ending =
  /** The file does not end as it should. */
  { kind: 'cut' } | { kind: 'unindexed'; trouble: Trouble } | { kind: 'indexed'; summary: Summary }

export async function readEnding(source: Source, definitions: Definitions, notes: Notes): Promise<Ending> {
  const size = source.size()
  const footerAt = size - MAGIC.length - FOOTER_BYTES
  if (footerAt < MAGIC.length) return { kind: 'cut' }
  const end = await source.read(footerAt, FOOTER_BYTES + MAGIC.length)
  const footer = end.subarray(0, FOOTER_BYTES)
  const view = viewOf(footer)
  const closed = magicBytes(end.subarray(FOOTER_BYTES)) > 0
  if (footer[0] !== opcode.footer || lengthAt(view, 1) !== FOOTER_BYTES - RECORD_HEADER_BYTES) {
    if (!closed) return { kind: 'cut' }
    return unindexed('index_mismatch', `no footer stands at byte ${footerAt}, before the magic at the end`)
  }
  if (!closed) {
    const detail = () => `the magic behind the footer, at byte ${size - MAGIC.length}, is damaged`
    notes.add({ code: 'chunk_corrupt', kind: 'end magic', detail })
  }
  const at = lengthAt(view, RECORD_HEADER_BYTES)
  if (at === 0)
    return unindexed('index_missing', `the footer at byte ${footerAt} says that there is no summary`)
  const beforeAt = at - DATA_END_BYTES
  if (beforeAt < MAGIC.length || at > footerAt || footerAt - at > MAX_CHUNK_BYTES) {
    return unindexed('index_mismatch', `the footer says that the summary begins at byte ${at} of ${size}`)
  }
  const bytes = await source.read(beforeAt, footerAt - beforeAt)
  const expected = view.getUint32(FOOTER_BYTES - 4, true)
  const problem = findProblem(bytes, footer, expected)
  if (problem) return unindexed('index_mismatch', `the summary at byte ${at} ${problem}`)
  return { kind: 'indexed', summary: parseSummary(bytes, at, definitions) }
}

function unindexed(code: Trouble['code'], detail: string): Ending {
  return { kind: 'unindexed', trouble: { code, detail } }
}

function findProblem(bytes: Uint8Array, footer: Uint8Array, expectedCrc: number): string | undefined {
  const view = viewOf(bytes)
  const dataEndLength = lengthAt(view, 1)
  if (bytes[0] !== opcode.dataEnd || dataEndLength !== DATA_END_BYTES - RECORD_HEADER_BYTES) {
    return 'has no DataEnd record before it'
  }
  const covered = footer.subarray(0, FOOTER_BYTES - 4)
  const crc = expectedCrc === 0 ? 0 : crc32(covered, crc32(bytes.subarray(DATA_END_BYTES)))
  if (crc !== expectedCrc) {
    return `has the CRC ${crc.toString(16)} where the footer says ${expectedCrc.toString(16)}`
  }
  let at = DATA_END_BYTES
  while (at + RECORD_HEADER_BYTES <= bytes.length) at += RECORD_HEADER_BYTES + lengthAt(view, at + 1)
  if (at !== bytes.length) return 'does not end where the footer begins'
  return undefined
}

function parseSummary(bytes: Uint8Array, summaryAt: number, definitions: Definitions): Summary {
  const view = viewOf(bytes)
  const chunkIndexes: number[] = []
  let statistics: Statistics | undefined
  for (let at = DATA_END_BYTES; at < bytes.length; ) {
    const end = at + RECORD_HEADER_BYTES + lengthAt(view, at + 1)
    const body = bytes.subarray(at + RECORD_HEADER_BYTES, end)
    const fileAt = summaryAt - DATA_END_BYTES + at
    if (bytes[at] === opcode.schema) definitions.schema(body, fileAt)
    else if (bytes[at] === opcode.channel) definitions.channel(body, fileAt)
    else if (bytes[at] === opcode.statistics) statistics ??= parseStatistics(body)
    else if (bytes[at] === opcode.chunkIndex) chunkIndexes.push(at)
    at = end
  }
  return {
    at: summaryAt,
    dataCrc: view.getUint32(RECORD_HEADER_BYTES, true),
    statistics,
    chunkCount: chunkIndexes.length,
    chunkIndex: openChunkIndexes(bytes, chunkIndexes),
  }
}

function openChunkIndexes(bytes: Uint8Array, places: number[]): Summary['chunkIndex'] {
  const view = viewOf(bytes)
  const chunkAt = (place: number): number =>
    lengthAt(view, place + 1) < 24 ? 0 : lengthAt(view, place + RECORD_HEADER_BYTES + 16)
  places.sort((a, b) => chunkAt(a) - chunkAt(b))
  return (n) => {
    const place = places[n]
    if (place === undefined) return undefined
    const bodyAt = place + RECORD_HEADER_BYTES
    return parseChunkIndex(bytes.subarray(bodyAt, bodyAt + lengthAt(view, place + 1)))
  }
}
