import { join } from 'node:path'
import { type Notes, openNotes } from './notes.ts'
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
  recognises: (head) => isSqlite(head) || isZstd(head),
  async scan(source, visitor, options) {
    const notes = openNotes()
    const path = join(options.tempDir, 'bag.db3')
    await copyTo(path, source, { visitor, notes, options })
    options.signal.throwIfAborted()
    const { bag, note } = await openBag(path, options)
    const told = bag && (await tell(bag, visitor, notes, options))
    if (note) notes.add(note(told?.messages ?? 0))
    if (told) noteMissing(notes, told, bag.isByPages && !note)
    notes.tell(visitor, told?.originNs)
    return { kind: 'unix' }
  },
}

async function tell(
  bag: Bag,
  visitor: Visitor,
  notes: Notes,
  options: ScanOptions,
): Promise<Told | undefined> {
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
    return undefined
  } finally {
    await bag.close()
  }
}

function noteMissing(notes: Notes, { messages, rows, lastId }: Told, isByPages: boolean) {
  if (isByPages && rows < lastId) {
    const detail = () =>
      `the ids of messages go up to ${lastId}, and ${rows} of them stand on the pages of the file`
    notes.add({ code: 'chunk_corrupt', kind: 'ids', detail })
  }
  const reasons = [
    'recording_truncated',
    'chunk_corrupt',
    'messages_undecodable',
    'timestamp_invalid',
  ] as const
  if (messages > 0 || reasons.some((code) => notes.count(code) > 0)) return
  notes.add({ code: 'recording_empty', kind: 'empty', detail: () => 'the bag holds no message' })
}
