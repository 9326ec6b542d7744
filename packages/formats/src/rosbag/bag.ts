import type { Window } from '../bytes.ts'
import type { Notes } from '../notes.ts'
import type { ScanOptions, Source, Visitor } from '../recording.ts'
import type { Unpacker } from './chunk.ts'
import type { ChunkIndex } from './chunk-index.ts'
import type { Connections } from './connections.ts'
import type { Teller } from './teller.ts'

/** All that a scan of one bag works with. */
export type Bag = {
  source: Source
  window: Window
  visitor: Visitor
  options: ScanOptions
  notes: Notes
  connections: Connections
  teller: Teller
  chunkIndex: ChunkIndex
  unpack: Unpacker
  /** Chunks met so far, and how many there are where that is known. */
  chunks: { met: number; expected: number | undefined }
}

/** Damage of the structure, described by its first occurrence of each kind. */
export function corrupt({ notes }: Bag, kind: string, detail: () => string) {
  notes.add({ code: 'chunk_corrupt', kind, detail })
}
