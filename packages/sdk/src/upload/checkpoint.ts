import { SourceError } from '../errors.ts'
import { wrongOption } from '../transport.ts'
import { choosePartSize } from './plan.ts'
import type { Source } from './source.ts'

/** All that an interrupted upload needs to go on: plain JSON, to be kept wherever you like. */
export type UploadCheckpoint = {
  session: string
  bytes: number
  sha256: string
  part_size: number
  /** Hex SHA-256 of every part, in order. */
  parts: string[]
}

const HEX = /^[0-9a-f]{64}$/

/** A checkpoint that was kept somewhere, for this source. */
export function readCheckpoint(given: UploadCheckpoint, source: Source): UploadCheckpoint {
  const { session, bytes, sha256, part_size, parts } = given
  const wellFormed =
    typeof session === 'string' &&
    Number.isSafeInteger(bytes) &&
    HEX.test(sha256) &&
    Array.isArray(parts) &&
    parts.every((digest) => HEX.test(digest))
  if (!wellFormed || parts.length !== Math.ceil(bytes / choosePartSize(bytes, part_size)))
    throw wrongOption('resume', 'resume must be a checkpoint as onCheckpoint gave it, or the id of a session')
  if (bytes !== source.size) {
    throw new SourceError(
      'source_changed',
      `${source.name ?? 'the source'} has ${source.size} bytes now and had ${bytes} when its upload began; upload it anew`,
    )
  }
  return given
}
