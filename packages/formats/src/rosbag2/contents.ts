import { zstdDecompressSync } from 'node:zlib'
import type { Notes } from '../notes.ts'
import type { ScanOptions } from '../recording.ts'
import type { Bag, MessageRow } from './bag.ts'
import { isZstd } from './copy.ts'

// Which messages are looked into: the first ones of every channel, and from then on a few of each, spread over the
// file. All of them where everything is to be read.

export type Contents = {
  isSample(channel: number, row: MessageRow): boolean
  /** Undefined where it cannot be had. */
  of(row: MessageRow): Promise<Uint8Array | undefined>
}

const FIRST_OF_CHANNEL = 20
const SPREAD_MESSAGES = 2000
const SPREAD_BYTES = 2 ** 30
const MAX_CONTENT_BYTES = 16 * 2 ** 20

export function openContents(bag: Bag, notes: Notes, { full, contents = true }: ScanOptions): Contents {
  const wanted = Math.max(1, bag.lastId / SPREAD_MESSAGES, bag.sizeBytes / SPREAD_BYTES)
  const every = full ? 1 : Math.ceil(wanted)
  const counts: number[] = []
  return {
    isSample(channel, { bytes }) {
      const count = counts[channel] ?? 0
      counts[channel] = count + 1
      return contents && (count < FIRST_OF_CHANNEL || count % every === 0) && bytes <= MAX_CONTENT_BYTES
    },
    async of(row) {
      const content = await bag.contentOf(row)
      if (content?.length === row.bytes) return isZstd(content) ? unpack(content, row, notes) : content
      const detail = () =>
        `the content of message ${row.id}, of ${row.bytes} bytes, cannot be read from its pages`
      notes.add({ code: 'messages_undecodable', kind: 'content', detail })
      return undefined
    },
  }
}

/** The recorder can compress each message. No encoding of ROS 2 begins like zstd does. */
function unpack(content: Uint8Array, { id }: MessageRow, notes: Notes): Uint8Array | undefined {
  try {
    return zstdDecompressSync(content, { maxOutputLength: MAX_CONTENT_BYTES })
  } catch (error) {
    // Larger than what is looked into, but nothing is wrong with it.
    if (error instanceof RangeError) return undefined
    const problem = error instanceof Error ? error.message : error
    const detail = () =>
      `the content of message ${id}, ${content.length} bytes of zstd, cannot be unpacked: ${problem}`
    notes.add({ code: 'messages_undecodable', kind: 'zstd', detail })
    return undefined
  }
}
