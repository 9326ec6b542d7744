import type { Notes } from '../notes.ts'
import type { StructuralCode } from '../recording.ts'
import { MESSAGE_INDEX_ENTRY_BYTES } from './records.ts'

/** Holds each chunk against the message indexes that stand behind it. */
export type Ledger = {
  opened(chunkAt: number, startNs: bigint, messages: number): void
  lost(code: StructuralCode, chunkAt: number, startNs: bigint, problem: string): void
  index(listBytes: number): void
  /** When the next chunk comes, or nothing more. With `cut`, indexes may have been lost on the way. */
  close(options?: { cut: boolean }): void
}

type Content = { messages: number } | { code: StructuralCode; problem: string }
type Chunk = { at: number; startNs: bigint; content: Content; indexes: number; entries: number }

export function openLedger(notes: Notes): Ledger {
  let chunk: Chunk | undefined
  const close = ({ cut } = { cut: false }): void => {
    if (chunk) noteChunk(notes, chunk, cut)
    chunk = undefined
  }
  const begin = (at: number, startNs: bigint, content: Content): void => {
    close()
    chunk = { at, startNs, content, indexes: 0, entries: 0 }
  }
  return {
    opened: (chunkAt, startNs, messages) => begin(chunkAt, startNs, { messages }),
    lost: (code, chunkAt, startNs, problem) => begin(chunkAt, startNs, { code, problem }),
    index(listBytes) {
      if (!chunk) return
      chunk.indexes++
      chunk.entries += Math.floor(listBytes / MESSAGE_INDEX_ENTRY_BYTES)
    },
    close,
  }
}

function noteChunk(notes: Notes, chunk: Chunk, cut: boolean): void {
  const { at, startNs: ns, content, indexes, entries } = chunk
  if ('problem' in content) {
    const lost = indexes > 0 ? `${entries} messages` : 'messages'
    const detail = () => `the chunk at byte ${at} ${content.problem}; the ${lost} in it are lost`
    notes.add({ code: content.code, kind: 'chunk', detail, ns })
  } else if (indexes > 0 && entries !== content.messages && !cut) {
    const detail = () =>
      `the chunk at byte ${at} holds ${content.messages} messages, the indexes behind it name ${entries}`
    notes.add({ code: 'index_mismatch', kind: 'count', detail, ns })
  } else if (indexes === 0 && content.messages > 0 && !cut) {
    const detail = () =>
      `no message index stands behind the chunk at byte ${at} with its ${content.messages} messages`
    notes.add({ code: 'index_missing', kind: 'chunk', detail, ns })
  }
}
