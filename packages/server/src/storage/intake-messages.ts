import type { HashedPart } from './prefix-hash.ts'

// What the service and its intake threads say to each other. `upload` numbers one part on its way in.

export type IncomingPart = {
  sessionId: string
  number: number
  partCount: number
  bytes: number
  sha256: string
}

export type ToThread =
  | { type: 'begin'; upload: number; part: IncomingPart }
  | { type: 'bytes'; upload: number; chunks: Uint8Array<ArrayBuffer>[] }
  | { type: 'end'; upload: number }
  /** The client is gone or was refused. */
  | { type: 'abort'; upload: number }
  /** The part's row is committed, or will never be. */
  | { type: 'settle'; upload: number; recorded: boolean }
  | { type: 'digest'; question: number; sessionId: string; parts: HashedPart[] }
  | { type: 'forget'; sessionId: string }

export type FromThread =
  /** So many bytes are out of memory. */
  | { type: 'taken'; upload: number; bytes: number }
  | { type: 'kept'; upload: number; object: string }
  | { type: 'refused'; upload: number; fault: Fault }
  | { type: 'digested'; question: number; sha256: string }
  | { type: 'undigested'; question: number; fault: Fault }

export type Fault =
  | { kind: 'mismatch'; found: string }
  | { kind: 'lost'; number: number; message: string }
  | { kind: 'unavailable' | 'unexpected'; message: string }
