import {
  DEFAULT_PART_BYTES,
  MAX_FILE_BYTES,
  MAX_PART_BYTES,
  MAX_PARTS,
  MIN_PART_BYTES,
  PART_BYTES_STEP,
} from '@tapedeck/contract/limits'
import { wrongOption } from '../transport.ts'

export type Part = { number: number; offset: number; length: number }

/** The size of the parts: as given, or 64 MiB, or the smallest that makes no more than 10,000 of them. */
export function choosePartSize(bytes: number, given: number | undefined): number {
  if (bytes > MAX_FILE_BYTES)
    throw wrongOption('source', `a recording has at most ${MAX_FILE_BYTES} bytes; this one has ${bytes}`)
  const least = Math.ceil(bytes / MAX_PARTS / PART_BYTES_STEP) * PART_BYTES_STEP
  if (given === undefined) return Math.max(DEFAULT_PART_BYTES, least)
  if (!Number.isInteger(given) || given < MIN_PART_BYTES || given > MAX_PART_BYTES) {
    throw wrongOption(
      'partSize',
      `partSize must be an integer from ${MIN_PART_BYTES} to ${MAX_PART_BYTES}; found ${given}`,
    )
  }
  if (Math.ceil(bytes / given) > MAX_PARTS) {
    const parts = Math.ceil(bytes / given)
    throw wrongOption(
      'partSize',
      `partSize must be at least ${least} for ${bytes} bytes; ${given} makes ${parts} parts`,
    )
  }
  return given
}

export function partAt(number: number, bytes: number, partSize: number): Part {
  const offset = (number - 1) * partSize
  return { number, offset, length: Math.min(partSize, bytes - offset) }
}
