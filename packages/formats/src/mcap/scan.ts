import type { Lz4 } from '../lz4.ts'
import type { Notes } from '../notes.ts'
import type { Source } from '../recording.ts'
import type { Definitions } from './definitions.ts'
import type { Teller } from './teller.ts'

/** What the ways to read a file share. */
export type Scan = {
  source: Source
  definitions: Definitions
  teller: Teller
  notes: Notes
  lz4: Lz4
  signal: AbortSignal
  /** Verify all checksums, those of attachments too. */
  full: boolean
  /** Whether chunks are opened for what is in their messages. */
  contents: boolean
  /** Read every byte in order, for the checksum over all data. */
  verifyData: boolean
  progress(at: number): void
}
