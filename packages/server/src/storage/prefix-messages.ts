import type { Fault } from './intake-messages.ts'
import type { HashedPart } from './prefix-hash.ts'

// What an intake thread and the thread of its prefixes say to each other. `tee` numbers one part that is hashed as it streams.

export type ToPrefixes =
  | { type: 'tee'; tee: number; sessionId: string; partCount: number; number: number }
  | { type: 'bytes'; tee: number; chunks: Uint8Array<ArrayBuffer>[] }
  | { type: 'abandon'; tee: number }
  | { type: 'add'; sessionId: string; partCount: number; part: HashedPart; tee: number | undefined }
  | { type: 'digest'; question: number; sessionId: string; parts: HashedPart[] }
  | { type: 'forget'; sessionId: string }

export type FromPrefixes =
  /** The next bytes that would be hashed as they stream are those of this part; none are while it catches up. */
  | { type: 'wants'; sessionId: string; number: number | undefined }
  | { type: 'hashed'; tee: number }
  | { type: 'digested'; question: number; sha256: string }
  | { type: 'undigested'; question: number; fault: Fault }
