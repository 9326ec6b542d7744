import { type Bag, corrupt } from './bag.ts'
import { type Chunk, whyUnreadable } from './chunk.ts'
import { ENTRY_BYTES, type Problem } from './chunk-index.ts'
import { tellChunk } from './chunk-messages.ts'
import { op, readRecord, u32Of } from './records.ts'
import { findChunkEnd } from './search.ts'

// A chunk is passed over where the index behind it tells its messages. It is unpacked where it is a sample, where that
// index is missing or contradicts it, and where everything is to be verified.

const SAMPLED_EVERY = 20

/** Returns where to go on: behind the index of the chunk, or inside a chunk that is too large to hold. */
export async function takeChunk(bag: Bag, said: Chunk, to: number): Promise<number> {
  const chunk = await withTrueLength(bag, said, to)
  const next = await readChunkIndex(bag, chunk, to)
  const number = bag.chunks.met++
  const { full, contents = true } = bag.options
  const isSample = full || (contents && (number % SAMPLED_EVERY === 0 || number + 1 === bag.chunks.expected))
  const whyNot = bag.chunkIndex.whyNot(bag.connections)
  const unreadable = whyUnreadable(chunk)
  const isWanted = isSample || whyNot !== undefined
  if (isWanted && unreadable === undefined) {
    await tellUnpacked(bag, chunk, whyNot)
    return next
  }
  // Too large to hold, but its records can be taken one by one.
  if (isWanted && chunk.compression === 'none') return chunk.dataAt
  if (isWanted) {
    const untold = whyNot ? `messages are not told, as its index ${whyNot.why}` : 'contents are not read'
    const detail = () => `the chunk at byte ${chunk.at} ${unreadable}; its ${untold}`
    bag.notes.add({ code: 'messages_undecodable', kind: 'chunk', detail })
  }
  if (!whyNot) bag.chunkIndex.tell(bag.teller, bag.connections)
  return next
}

/** A chunk behind which no record stands may be longer or shorter than it says. */
async function withTrueLength(bag: Bag, chunk: Chunk, to: number): Promise<Chunk> {
  const end = chunk.dataAt + chunk.dataBytes
  if (end >= to) return chunk
  const behind = await readRecord(bag.window, end)
  if ('op' in behind || behind.problem === 'zeros') return chunk
  const { end: trueEnd, loaded } = await findChunkEnd(bag, chunk.dataAt, to)
  const found = loaded ? { ...chunk, loaded } : chunk
  if (trueEnd === undefined) return found
  const dataBytes = trueEnd - chunk.dataAt
  corrupt(bag, 'length', () => {
    const place = `the chunk at byte ${chunk.at} says that ${chunk.dataBytes} bytes follow`
    return `${place}, and the next record stands ${dataBytes} bytes on`
  })
  return { ...found, dataBytes, sizeBytes: chunk.compression === 'none' ? dataBytes : chunk.sizeBytes }
}

/** Returns the end of the index. */
async function readChunkIndex({ window, chunkIndex }: Bag, chunk: Chunk, to: number): Promise<number> {
  chunkIndex.begin(chunk)
  let at = chunk.dataAt + chunk.dataBytes
  while (at < to) {
    const record = await readRecord(window, at)
    if (!('op' in record) || record.end > to) {
      // There may have been more of it.
      chunkIndex.spoil({ why: `breaks at byte ${at}`, isLie: false })
      break
    }
    if (record.op !== op.indexData) break
    const conn = u32Of(record.fields, 'conn')
    const entries = u32Of(record.fields, 'count') ?? 0
    if (conn === undefined || record.dataBytes !== entries * ENTRY_BYTES) {
      chunkIndex.spoil({ why: `has ${record.dataBytes} bytes for ${entries} messages`, isLie: true })
    } else {
      const problem = chunkIndex.whyNoRoom(entries)
      if (problem) chunkIndex.spoil(problem)
      else chunkIndex.add(conn, await window.at(record.dataAt, record.dataBytes))
    }
    at = record.end
  }
  return at
}

async function tellUnpacked(bag: Bag, chunk: Chunk, whyNot: Problem | undefined) {
  const { dataAt, dataBytes, loaded } = chunk
  const data = loaded?.subarray(0, dataBytes) ?? (await bag.source.read(dataAt, dataBytes))
  const { bytes, fault } = await bag.unpack(chunk, data)
  const { messages, damage } = tellChunk(bytes, { chunkAt: chunk.at, isSound: fault === undefined }, bag)
  const indexed = bag.chunkIndex.count()
  const place = `the chunk at byte ${chunk.at}`
  const outcome = `${messages} messages of it are read${indexed > 0 ? `, its index names ${indexed}` : ''}`
  // What a cut costs is said where the cut is.
  if (chunk.isCut) return
  if (fault !== undefined) {
    corrupt(bag, 'unpack', () => `${place} ${fault}; ${outcome}`)
  } else if (damage) {
    const lost = `${damage.bytes} bytes are passed over`
    corrupt(bag, 'inside', () => `records break at byte ${damage.at} of ${place}, ${lost}; ${outcome}`)
  } else if (whyNot ? whyNot.isLie : indexed !== messages) {
    const lie = whyNot ? `; it ${whyNot.why}` : ''
    const detail = () => `${place} holds ${messages} messages, its index names ${indexed}${lie}`
    bag.notes.add({ code: 'index_mismatch', kind: 'chunk', detail })
  }
}
