import { join } from 'node:path'
import { type Notes, openNotes } from './mcap/notes.ts'
import type { Reader, ScanOptions, Visitor } from './recording.ts'
import type { Bag } from './rosbag2/bag.ts'
import { copyTo, isZstd } from './rosbag2/copy.ts'
import { isSqlite } from './rosbag2/header.ts'
import { type Told, tellMessages } from './rosbag2/messages.ts'
import { isFileFault, openBag } from './rosbag2/open.ts'
import { tellTopics } from './rosbag2/topics.ts'

// ROS 2 bags that are SQLite databases: a table of topics, one of messages, and in newer versions one of definitions.
// SQLite reads files only, so the recording is copied first.

export const rosbag2: Reader = {
  format: 'rosbag2',
  extensions: ['.db3', '.db3.zstd'],
  recognises: (head) => isSqlite(head) || isZstd(head),
  async scan(source, visitor, options) {
    const notes = openNotes()
    const path = join(options.tempDir, 'bag.db3')
    await copyTo(path, source, { visitor, notes, options })
    options.signal.throwIfAborted()
    const { bag, note } = await openBag(path, options)
    const told = bag ? await tell(bag, visitor, notes, options) : { messages: 0, originNs: undefined }
    if (note) notes.add(note(told.messages))
    if (bag) noteEmpty(notes, told)
    notes.tell(visitor, told.originNs)
    return { kind: 'unix' }
  },
}

async function tell(bag: Bag, visitor: Visitor, notes: Notes, options: ScanOptions): Promise<Told> {
  try {
    const topics = await tellTopics(bag, visitor, notes)
    return await tellMessages({ bag, topics, visitor, notes, options })
  } catch (error) {
    // Not met so far: the pages were checked before.
    if (!isFileFault(error)) throw error
    notes.add({
      code: 'chunk_corrupt',
      kind: 'query',
      detail: () => `the bag can be read no further: ${error.message}`,
    })
    return { messages: 0, originNs: undefined }
  } finally {
    await bag.close()
  }
}

function noteEmpty(notes: Notes, { messages }: Told) {
  const reasons = [
    'recording_truncated',
    'chunk_corrupt',
    'messages_undecodable',
    'timestamp_invalid',
  ] as const
  if (messages > 0 || reasons.some((code) => notes.count(code) > 0)) return
  notes.add({ code: 'recording_empty', kind: 'empty', detail: () => 'the bag holds no message' })
}
