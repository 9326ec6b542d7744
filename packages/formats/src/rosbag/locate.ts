import type { Bag } from './bag.ts'
import { type BagIndex, readBagIndex } from './bag-index.ts'
import { type BagRecord, offsetOf, op, readRecord, textOf, u32Of } from './records.ts'
import { LINE_BYTES, type Version } from './version.ts'

export type Where = { from: number; to: number; index: BagIndex | undefined }

/** Where the records of the bag stand; undefined where none can be read. */
export async function locate(bag: Bag, version: Version): Promise<Where | undefined> {
  const { window } = bag
  const everything = { from: version.end, to: window.size, index: undefined }
  // Without its first line a bag may still have all its records.
  if (version.kind === 'none') return window.size > LINE_BYTES ? everything : undefined
  if (version.kind !== 'chunked') return version.kind === 'plain' ? everything : undefined
  const header = await readRecord(window, version.end)
  if (!('op' in header) || header.op !== op.bagHeader) {
    noteHeader(bag, version.end, 'op' in header ? `op ${header.op}` : header.why)
    return everything
  }
  const encryptor = textOf(header.fields, 'encryptor')
  if (encryptor !== '') {
    const detail = () => `the bag is encrypted by ${encryptor}; nothing of it is read`
    bag.notes.add({ code: 'messages_undecodable', kind: 'encrypted', detail })
    return undefined
  }
  return (await locateIndex(bag, header)) ?? everything
}

function noteHeader({ notes, window }: Bag, at: number, found: string) {
  const isCut = window.size <= at
  const detail = () => `the bag header at byte ${at} cannot be read (${found}), so the index is not found`
  notes.add({ code: isCut ? 'recording_truncated' : 'chunk_corrupt', kind: 'bag header', detail })
}

async function locateIndex(bag: Bag, header: BagRecord): Promise<Where | undefined> {
  const { window, notes, connections, teller } = bag
  const chunkCount = u32Of(header.fields, 'chunk_count')
  const connectionCount = u32Of(header.fields, 'conn_count')
  const at = offsetOf(header.fields, 'index_pos') ?? 0
  const index = at < window.size && at > 0 ? await readBagIndex(window, at, bag, bag.options) : undefined
  if (!index) return noteNoIndex(bag, at)
  bag.chunks.expected = index.whole ? index.chunks : chunkCount
  if (index.times.length > 0) teller.expect(index.times)
  if (index.whole && (chunkCount !== index.chunks || connectionCount !== connections.count())) {
    const detail = () =>
      `the bag header says ${connectionCount ?? 'nothing of'} connections and ${chunkCount ?? 'nothing of'} chunks, the index at byte ${at} has ` +
      `${connections.count()} and ${index.chunks}`
    notes.add({ code: 'index_mismatch', kind: 'header', detail })
  }
  return { from: header.end, to: at, index }
}

function noteNoIndex({ window, notes }: Bag, at: number): undefined {
  if (at === 0) {
    const detail = () =>
      'the bag header has the index position 0: the recorder did not close the bag; it is read from its chunks'
    notes.add({ code: 'index_missing', kind: 'none', detail })
  } else if (at >= window.size) {
    const detail = () => `the index should begin at byte ${at}, and the file ends at byte ${window.size}`
    notes.add({ code: 'recording_truncated', kind: 'index', detail })
  } else {
    const detail = () => `the index should begin at byte ${at}, where no record of an index stands`
    notes.add({ code: 'index_mismatch', kind: 'position', detail })
  }
}
