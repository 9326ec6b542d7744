import { openWindow } from './bytes.ts'
import { openNotes } from './notes.ts'
import type { Reader, ScanOptions, Source, Visitor } from './recording.ts'
import type { Bag } from './rosbag/bag.ts'
import type { BagIndex } from './rosbag/bag-index.ts'
import { openUnpacker } from './rosbag/chunk.ts'
import { openChunkIndex } from './rosbag/chunk-index.ts'
import { openConnections } from './rosbag/connections.ts'
import { locate } from './rosbag/locate.ts'
import { openTeller } from './rosbag/teller.ts'
import { LINE_BYTES, readVersion, type Version } from './rosbag/version.ts'
import { walk } from './rosbag/walk.ts'

// ROS 1 bags. Version 2.0 has chunks, each with an index behind it, and an index of the whole at the end, which its
// first record points to. Version 1.2 is messages one behind the other.

/** Enough for the index of a usual chunk and the header of the next one, so that each costs one read. */
const WINDOW_BYTES = 1 << 14
const OLD_WINDOW_BYTES = 1 << 20

export const rosbag: Reader = {
  format: 'rosbag',
  recognises: (head) => readVersion(head).kind !== 'none',
  async scan(source, visitor, options) {
    const version = readVersion(await source.read(0, Math.min(source.size(), LINE_BYTES)))
    const bag = openBag(source, visitor, options, version)
    noteVersion(bag, version)
    const where = await locate(bag, version)
    if (where) {
      await walk(bag, where.from, where.to)
      noteCounts(bag, where.index)
    }
    noteEmpty(bag)
    bag.notes.tell(visitor, bag.teller.originNs())
    return { kind: 'unix' }
  },
}

function openBag(source: Source, visitor: Visitor, options: ScanOptions, { kind }: Version): Bag {
  const notes = openNotes()
  const connections = openConnections(visitor, notes)
  return {
    source,
    window: openWindow(source, kind === 'plain' ? OLD_WINDOW_BYTES : WINDOW_BYTES),
    visitor,
    options,
    notes,
    connections,
    teller: openTeller(visitor, connections, notes),
    chunkIndex: openChunkIndex(),
    unpack: openUnpacker(),
    chunks: { met: 0, expected: undefined },
  }
}

function noteVersion({ notes, window }: Bag, { kind, name }: Version) {
  if (kind === 'other') {
    const detail = () =>
      `the bag has version ${name}, and only 1.2 and 2.0 are read; 'rosbag fix' can convert it`
    notes.add({ code: 'messages_undecodable', kind: 'version', detail })
  } else if (kind === 'none') {
    const detail = () => `the file of ${window.size} bytes does not begin with '#ROSBAG V2.0'`
    const code = window.size < LINE_BYTES ? 'recording_truncated' : 'chunk_corrupt'
    notes.add({ code, kind: 'version', detail })
  }
}

/** Where damage was met, the difference is what it cost. */
function noteCounts({ notes, teller, chunks }: Bag, index: BagIndex | undefined) {
  if (!index?.whole || (teller.met() === index.messages && chunks.met === index.chunks)) return
  const isExplained = notes.count('chunk_corrupt') > 0
  const detail = () =>
    `the index counts ${index.messages} messages in ${index.chunks} chunks, ${teller.met()} in ${chunks.met} are met`
  notes.add({
    code: isExplained ? 'chunk_corrupt' : 'index_mismatch',
    kind: 'counts',
    detail,
    count: isExplained ? 0 : 1,
  })
}

function noteEmpty({ notes, teller, window }: Bag) {
  const reasons = ['recording_truncated', 'chunk_corrupt', 'messages_undecodable'] as const
  if (teller.met() > 0 || reasons.some((code) => notes.count(code) > 0)) return
  const detail = () => `the bag of ${window.size} bytes holds no message`
  notes.add({ code: 'recording_empty', kind: 'empty', detail })
}
