import { type Bag, corrupt } from './bag.ts'
import { readConnection } from './bag-index.ts'
import { toChunk } from './chunk.ts'
import { describeOld } from './connections.ts'
import { type BagRecord, type NoRecord, op, readRecord, textOf, timeOf, u32Of } from './records.ts'
import { anyOp, findChunkEnd, findRecord } from './search.ts'
import { takeChunk } from './take-chunk.ts'

// Goes from record to record, over padding, and past damage to the next record that is whole.

const MAX_CONTENT_BYTES = 16 * 2 ** 20
const ZEROS_BYTES = 1 << 16

export async function walk(bag: Bag, from: number, to: number): Promise<void> {
  let at = from
  while (at < to) {
    bag.options.signal.throwIfAborted()
    bag.visitor.progress(at / bag.window.size)
    const record = await readRecord(bag.window, at)
    at = 'op' in record ? await take(bag, record, to) : await passOver(bag, at, record, to)
  }
}

/** Returns where to go on, as all below: always behind the beginning of the record. */
async function take(bag: Bag, record: BagRecord, to: number): Promise<number> {
  if (record.end > to) return takeOverlong(bag, record, to)
  switch (record.op) {
    case op.chunk:
      return takeChunk(bag, toChunk(record), to)
    case op.message:
      await takeMessage(bag, record)
      break
    case op.connection:
      await readConnection(bag.window, record, bag)
      break
    case op.definition:
      bag.connections.add(textOf(record.fields, 'topic'), describeOld(record.fields), {
        at: record.at,
        recordBytes: 0,
      })
      break
    case op.bagHeader:
    case op.indexData:
    case op.chunkInfo:
      break
    default:
      corrupt(
        bag,
        'op',
        () => `the record at byte ${record.at} has the unknown op ${record.op} and is passed over`,
      )
  }
  return record.end
}

/** The file is cut inside this record, or its length lies. Records behind its beginning say which. */
async function takeOverlong(bag: Bag, record: BagRecord, to: number): Promise<number> {
  if (record.op === op.chunk) return takeOverlongChunk(bag, record, to)
  const next = await findRecord(bag.window, { from: record.dataAt, to, ops: anyOp }, bag.options)
  noteOverlong(bag, record, { next, to }, 'record')
  return next ?? to
}

async function takeOverlongChunk(bag: Bag, record: BagRecord, to: number): Promise<number> {
  const { end, loaded } = await findChunkEnd(bag, record.dataAt, to)
  const isCut = end === undefined && to === bag.window.size
  const chunk = toChunk({ ...record, dataBytes: (end ?? to) - record.dataAt })
  const before = bag.teller.met()
  const next = await takeChunk(bag, { ...chunk, isCut, ...(loaded ? { loaded } : {}) }, to)
  const outcome = next === record.dataAt ? '' : `; ${bag.teller.met() - before} messages of it are read`
  noteOverlong(bag, record, { next: end, to }, 'chunk', outcome)
  return next
}

function noteOverlong(
  { notes, window }: Bag,
  { at, dataAt, dataBytes }: BagRecord,
  { next, to }: { next: number | undefined; to: number },
  kind: 'chunk' | 'record',
  outcome = '',
) {
  const isCut = next === undefined && to === window.size
  const detail = () =>
    `the ${kind} at byte ${at} says that ${dataBytes} bytes follow, and the ` +
    `${isCut ? 'file ends' : 'next record stands'} ${(next ?? to) - dataAt} bytes on${outcome}`
  notes.add({ code: isCut ? 'recording_truncated' : 'chunk_corrupt', kind: 'length', detail })
}

/** A message outside of any chunk: in bags of version 1.2, and where the beginning of a chunk is lost. */
async function takeMessage(bag: Bag, { at, fields, dataAt, dataBytes }: BagRecord) {
  // Some writers of version 1.2 gave the bag header the op of a message.
  if (fields.has('index_pos')) return
  const id = u32Of(fields, 'conn') ?? textOf(fields, 'topic')
  const sec = u32Of(fields, 'sec')
  const nano = u32Of(fields, 'nsec')
  const time = timeOf(fields, 'time') ?? (sec !== undefined && nano !== undefined ? { sec, nano } : undefined)
  if (!time) return corrupt(bag, 'time', () => `the message at byte ${at} has no time`)
  const content = dataBytes <= MAX_CONTENT_BYTES ? await bag.window.at(dataAt, dataBytes) : undefined
  bag.teller.message(id, time, { at, isSound: true }, dataBytes, content)
}

/** Zeros between records are padding; anything else is searched for the next record. */
async function passOver(bag: Bag, at: number, { problem, why }: NoRecord, to: number): Promise<number> {
  const from = problem === 'zeros' ? await endOfZeros(bag, at, to) : at
  const isEnd = to === bag.window.size
  if (problem === 'zeros') {
    if (from === to) {
      const detail = () =>
        `the last ${to - at} bytes, from byte ${at}, are zeros that were never written over`
      if (isEnd) bag.notes.add({ code: 'recording_truncated', kind: 'zeros', detail })
      return to
    }
    const next = await recordNear(bag, at, from, to)
    // Nobody pads between messages.
    if (next?.op === op.message) {
      corrupt(bag, 'zeros', () => `bytes ${at} to ${next.at} are zeros, where messages should stand`)
    }
    if (next) return next.at
  }
  const found = await findRecord(bag.window, { from: from + 1, to, ops: anyOp }, bag.options)
  if (found === undefined && problem === 'short' && isEnd) {
    const detail = () => `the file ends inside the record at byte ${at}: ${why}`
    bag.notes.add({ code: 'recording_truncated', kind: 'header', detail })
  } else {
    corrupt(bag, 'record', () => {
      const place = problem === 'zeros' ? `behind zeros from byte ${at}` : `at byte ${at} (${why})`
      return `no record stands ${place}; ${(found ?? to) - at} bytes are passed over`
    })
  }
  return found ?? to
}

async function endOfZeros({ window, options }: Bag, from: number, to: number): Promise<number> {
  for (let at = from; at < to; at += ZEROS_BYTES) {
    options.signal.throwIfAborted()
    const bytes = await window.at(at, Math.min(ZEROS_BYTES, to - at))
    const found = bytes.findIndex((byte) => byte !== 0)
    if (found !== -1) return at + found
  }
  return to
}

/** The length that begins a record may itself begin with up to three zeros. */
async function recordNear(
  { window }: Bag,
  from: number,
  at: number,
  to: number,
): Promise<BagRecord | undefined> {
  for (let start = Math.max(from + 1, at - 3); start <= at; start++) {
    const record = await readRecord(window, start)
    if ('op' in record && anyOp.has(record.op) && record.end <= to) return record
  }
  return undefined
}
