import {
  type ChunkIndex,
  DATA_END_BYTES,
  MESSAGE_INDEX_ENTRY_BYTES,
  MESSAGE_INDEX_OVERHEAD_BYTES,
  RECORD_HEADER_BYTES,
} from './records.ts'
import type { Summary, Trouble } from './summary.ts'

/**
 * Whether the index can be gone by, found out from the summary alone, before a message is told: what was told cannot be
 * taken back. A file may well count more messages in its statistics than its index can reach.
 */
export function findTrouble(summary: Summary, recordsAt: number): Trouble | undefined {
  const { statistics, chunkCount } = summary
  if (statistics && statistics.chunkCount !== chunkCount && chunkCount > 0) {
    return mismatch(`the statistics count ${statistics.chunkCount} chunks, the summary indexes ${chunkCount}`)
  }
  if (chunkCount === 0) {
    if (statistics?.messageCount === 0) return undefined
    return { code: 'index_missing', detail: `the summary at byte ${summary.at} indexes no chunk` }
  }
  let end = recordsAt
  let entries: number | undefined = 0
  for (let n = 0; n < chunkCount; n++) {
    const index = summary.chunkIndex(n)
    if (!index) return mismatch(`chunk index ${n} in the summary at byte ${summary.at} is broken`)
    const chunkEnd = index.chunkAt + index.chunkBytes + index.indexBytes
    const inside = chunkEnd <= summary.at - DATA_END_BYTES
    if (index.chunkAt < end || index.chunkBytes <= RECORD_HEADER_BYTES || !inside) {
      return mismatch(
        `chunk index ${n} places a chunk and its message indexes at bytes ${index.chunkAt} to ${chunkEnd}, ` +
          `where bytes ${end} to ${summary.at - DATA_END_BYTES} are left for them`,
      )
    }
    end = chunkEnd
    const more = countEntries(index)
    entries = entries === undefined || more === undefined ? undefined : entries + more
  }
  return statistics && entries !== undefined
    ? compareCounts(statistics.messageCount, sum(statistics.counts), entries)
    : undefined
}

/** From its length alone; undefined where records are padded. */
function countEntries({ indexCount, indexBytes }: ChunkIndex): number | undefined {
  const entries = (indexBytes - indexCount * MESSAGE_INDEX_OVERHEAD_BYTES) / MESSAGE_INDEX_ENTRY_BYTES
  return Number.isInteger(entries) && entries >= 0 ? entries : undefined
}

function compareCounts(messages: number, byChannel: number, entries: number): Trouble | undefined {
  if (messages > 0 && entries === 0) {
    return { code: 'index_missing', detail: `the chunks of ${messages} messages have no message indexes` }
  }
  if (messages !== entries) {
    return mismatch(`the statistics count ${messages} messages, the message indexes ${entries}`)
  }
  if (messages !== byChannel) {
    return mismatch(`the statistics count ${messages} messages, but ${byChannel} in all channels together`)
  }
  return undefined
}

function mismatch(detail: string): Trouble {
  return { code: 'index_mismatch', detail }
}

function sum(counts: Map<number, number>): number {
  return counts.values().reduce((total, count) => total + count, 0)
}
