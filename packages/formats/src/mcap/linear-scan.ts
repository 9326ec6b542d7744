import { MAX_CHUNK_BYTES } from '../recording.ts'
import { type Blocks, openBlocks } from './blocks.ts'
import { openChunk, salvageChunk, storedOf } from './chunk.ts'
import { noteBroken, tellRecords } from './chunk-records.ts'
import { type Ledger, openLedger } from './ledger.ts'
import { magicBytes } from './magic.ts'
import { type Stop, type Walk, walkRecords } from './plain-records.ts'
import {
  CHUNK_HEADER_MAX_BYTES,
  type ChunkHeader,
  DATA_END_BYTES,
  lengthAt,
  MAGIC,
  parseChunkHeader,
  RECORD_HEADER_BYTES,
  viewOf,
} from './records.ts'
import { findRecords } from './resync.ts'
import type { Scan } from './scan.ts'

// Record by record, chunk by chunk, as the file was written. A chunk that cannot be opened is skipped by its length;
// where lengths make no sense, the next place where they do is looked for.

export type LinearOptions = {
  from: number
  to: number
  /** Where the index knows a chunk, at or behind a place: there records begin, whatever was before. */
  nextChunkAt?: (at: number) => number | undefined
  /** The file has no proper end: what is left over there is told to the caller, not noted. */
  openEnd?: boolean
}

export type LinearEnd = {
  footerAt: number | undefined
  /** What was left over at an open end. */
  rest: Rest | undefined
}

type Rest = { at: number; why: string }
type Linear = LinearOptions & { scan: Scan; blocks: Blocks; ledger: Ledger; walk: Walk }
/** Why records cannot be followed further; `final` where none can come. */
type Setback = { why: string; final?: boolean }

export async function scanLinear(scan: Scan, options: LinearOptions): Promise<LinearEnd> {
  const { from, to } = options
  const linear: Linear = {
    ...options,
    scan,
    blocks: openBlocks(scan.source, { from, to, everyByte: scan.verifyData }),
    ledger: openLedger(scan.notes),
    walk: { at: from, sureTo: from, corruptTo: from, returnedBytes: 0 },
  }
  const end = await goOver(linear)
  linear.ledger.close({ cut: end.rest !== undefined })
  if (!end.rest || (options.openEnd && end.footerAt === undefined)) return end
  noteGap(scan, end.rest, to)
  return { ...end, rest: undefined }
}

async function goOver(linear: Linear): Promise<LinearEnd> {
  const { scan, to, walk } = linear
  let footerAt: number | undefined
  let needed = RECORD_HEADER_BYTES
  while (walk.at < to) {
    scan.signal.throwIfAborted()
    scan.progress(walk.at)
    const stop = await walkOn(linear, needed)
    needed = stop.kind === 'more' ? stop.bytes : RECORD_HEADER_BYTES
    let setback: Setback | undefined
    if (stop.kind === 'lost') setback = stop
    else if (stop.kind === 'chunk') setback = await takeChunk(linear)
    else if (stop.kind === 'dataEnd') await passDataEnd(linear)
    else if (stop.kind === 'footer') footerAt = await passFooter(linear)
    const rest = setback && (await recover(linear, setback))
    if (rest) return { footerAt, rest }
  }
  return { footerAt, rest: undefined }
}

async function walkOn({ scan, blocks, ledger, walk, to }: Linear, needed: number): Promise<Stop> {
  if (walk.at + needed > to) return { kind: 'lost', why: `${to - walk.at} bytes, too few for a record` }
  return walkRecords(scan, ledger, walk, await blocks.at(walk.at, needed), to)
}

async function takeChunk(linear: Linear): Promise<Setback | undefined> {
  const { scan, blocks, ledger, walk, to } = linear
  const { at } = walk
  const head = await blocks.at(at, Math.min(RECORD_HEADER_BYTES + CHUNK_HEADER_MAX_BYTES, to - at))
  const length = lengthAt(viewOf(head), 1)
  const header = parseChunkHeader(head.subarray(RECORD_HEADER_BYTES))
  if (!header || header.recordsAt + header.recordsBytes > length) {
    return { why: `a chunk of ${length} bytes that its fields do not fit into` }
  }
  const bodyAt = at + RECORD_HEADER_BYTES
  if (bodyAt + length > to) return takeCutChunk(linear, header, length)
  walk.at = bodyAt + length
  walk.sureTo = bodyAt + header.recordsAt
  if (length > MAX_CHUNK_BYTES) {
    const problem = `has ${length} bytes, and at most ${MAX_CHUNK_BYTES} are read`
    ledger.lost('messages_undecodable', at, header.startNs, problem)
    return undefined
  }
  const record = await blocks.at(at, RECORD_HEADER_BYTES + length)
  const body = record.subarray(RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + length)
  const opened = await openChunk(header, storedOf(header, body), scan.lz4)
  if (opened.kind !== 'records') {
    const code = opened.kind === 'corrupt' ? 'chunk_corrupt' : 'messages_undecodable'
    ledger.lost(code, at, header.startNs, opened.problem)
    walk.corruptTo = walk.at
    return undefined
  }
  const { records } = opened
  const told = tellRecords(scan, records, at)
  ledger.opened(at, header.startNs, told.messages)
  if (told.end < records.length) noteBroken(scan, at, told.end, records.length, header.startNs)
  walk.sureTo += header.recordsBytes
  return undefined
}

/** The recorder stopped while it wrote this chunk, if both of its lengths say so; then its beginning can be read. */
async function takeCutChunk(linear: Linear, header: ChunkHeader, length: number): Promise<Setback> {
  const { scan, blocks, ledger, walk, to, openEnd } = linear
  const why = `a chunk of ${length} bytes`
  const left = to - walk.at
  if (!openEnd || header.recordsAt + header.recordsBytes !== length || left > MAX_CHUNK_BYTES) return { why }
  ledger.close()
  const record = await blocks.at(walk.at, left)
  const stored = record.subarray(RECORD_HEADER_BYTES + header.recordsAt, left)
  const { messages } = tellRecords(scan, await salvageChunk(header, stored, scan.lz4), walk.at)
  return {
    why: `${why}, of which the first ${left} are there; ${messages} messages of it could be read`,
    final: true,
  }
}

async function passDataEnd({ scan, blocks, ledger, walk }: Linear): Promise<void> {
  const { at } = walk
  ledger.close()
  const view = viewOf(await blocks.at(at, DATA_END_BYTES))
  walk.at += RECORD_HEADER_BYTES + lengthAt(view, 1)
  walk.sureTo = walk.at
  if (!scan.verifyData || view.byteLength < DATA_END_BYTES || scan.notes.count('chunk_corrupt') > 0) return
  const expected = view.getUint32(RECORD_HEADER_BYTES, true)
  const found = expected === 0 ? 0 : await blocks.crcTo(at)
  if (found === expected || found === undefined) return
  const detail = () =>
    `the data up to byte ${at} has the CRC ${found.toString(16)} where its end says ${expected.toString(16)}: ` +
    'something was changed that no chunk has a CRC of'
  scan.notes.add({ code: 'chunk_corrupt', kind: 'data', detail })
}

/** Behind the footer stands the magic, and in files that were joined the magic of the next one. */
async function passFooter({ blocks, walk, to }: Linear): Promise<number> {
  const footerAt = walk.at
  walk.at += RECORD_HEADER_BYTES + lengthAt(viewOf(await blocks.at(walk.at, RECORD_HEADER_BYTES)), 1)
  for (let length = 1; length > 0 && walk.at < to; walk.at += length) {
    length = magicBytes(await blocks.at(walk.at, Math.min(MAGIC.length, to - walk.at)))
  }
  walk.sureTo = walk.at
  return footerAt
}

/** Goes on where records make sense again. Returns what is left over if they never do. */
async function recover(linear: Linear, { why, final }: Setback): Promise<Rest | undefined> {
  const { scan, blocks, ledger, walk, to, nextChunkAt } = linear
  const { at, sureTo } = walk
  ledger.close({ cut: true })
  if (final) return { at, why }
  // Looking back is paid for with bytes that are read again: in all at most once the file.
  walk.returnedBytes += at - sureTo
  const from = sureTo < at && walk.returnedBytes <= scan.source.size() ? sureTo : at + 1
  const known = nextChunkAt?.(from) ?? to
  const range = { from, to: known, onlyChunksTo: walk.corruptTo }
  const found = (await findRecords(scan, blocks, range)) ?? (known < to ? known : undefined)
  if (found === undefined) return { at, why }
  noteGap(scan, { at, why }, found)
  walk.at = found
  walk.sureTo = found
  return undefined
}

function noteGap({ notes }: Scan, { at, why }: Rest, to: number): void {
  const detail = () => `at byte ${at} stands ${why}, which is no record; reading goes on at byte ${to}`
  notes.add({ code: 'chunk_corrupt', kind: 'framing', detail })
}
