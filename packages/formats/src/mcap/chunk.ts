import { constants, crc32, zstdDecompressSync } from 'node:zlib'
import type { Lz4 } from '../lz4.ts'
import { MAX_CHUNK_BYTES } from '../recording.ts'
import type { ChunkHeader } from './records.ts'

/** Room behind the expected size, without which zlib makes a second buffer to see that nothing follows. */
const SLACK_BYTES = 1024

/** The records of a chunk, or why they cannot be had. */
export type Opened =
  | { kind: 'records'; records: Uint8Array }
  | { kind: 'corrupt'; problem: string }
  /** Not damaged, but beyond what is read. */
  | { kind: 'unreadable'; problem: string }

/** The compressed records within the body of a chunk record. */
export function storedOf({ recordsAt, recordsBytes }: ChunkHeader, body: Uint8Array): Uint8Array {
  return body.subarray(recordsAt, recordsAt + recordsBytes)
}

export function storedFits({ recordsAt, recordsBytes }: ChunkHeader, body: Uint8Array): boolean {
  return recordsAt + recordsBytes <= body.length
}

export async function openChunk(header: ChunkHeader, stored: Uint8Array, lz4: Lz4): Promise<Opened> {
  const { uncompressedBytes, crc, compression } = header
  if (uncompressedBytes > MAX_CHUNK_BYTES) {
    const problem = `says that it holds ${uncompressedBytes} bytes, and at most ${MAX_CHUNK_BYTES} are read`
    return { kind: 'unreadable', problem }
  }
  collectBefore(uncompressedBytes)
  const records = await decompress(compression, stored, uncompressedBytes, lz4)
  if (typeof records === 'string')
    return { kind: isKnown(compression) ? 'corrupt' : 'unreadable', problem: records }
  if (records.length !== uncompressedBytes) {
    const problem = `holds ${records.length} bytes where its header says ${uncompressedBytes}`
    return { kind: 'corrupt', problem }
  }
  const found = crc === 0 ? 0 : crc32(records)
  if (found !== crc)
    return { kind: 'corrupt', problem: `has the CRC ${hex(found)} where its header says ${hex(crc)}` }
  return { kind: 'records', records }
}

const LARGE_BYTES = 16 * 2 ** 20
const COLLECT_AFTER_BYTES = 128 * 2 ** 20
let unpackedBytes = 0

/**
 * Large chunks become garbage faster than the collector notices, and four of the largest are a gigabyte. Where it can
 * be asked (`--expose-gc`), it is asked.
 */
function collectBefore(bytes: number): void {
  if (bytes < LARGE_BYTES) return
  unpackedBytes += bytes
  if (unpackedBytes < COLLECT_AFTER_BYTES) return
  unpackedBytes = 0
  globalThis.gc?.()
}

/** The first records of a chunk whose end is missing. Nothing can check them but their own framing. */
export async function salvageChunk(header: ChunkHeader, stored: Uint8Array, lz4: Lz4): Promise<Uint8Array> {
  const { uncompressedBytes, compression } = header
  if (uncompressedBytes > MAX_CHUNK_BYTES) return new Uint8Array()
  if (compression === 'lz4') return lz4.salvage(stored, uncompressedBytes)
  if (compression !== 'zstd') return isKnown(compression) ? stored : new Uint8Array()
  const partial = unzstd(stored, uncompressedBytes, constants.ZSTD_e_flush)
  return typeof partial === 'string' ? new Uint8Array() : partial
}

function isKnown(compression: string): boolean {
  return compression === '' || compression === 'none' || compression === 'zstd' || compression === 'lz4'
}

async function decompress(
  compression: string,
  stored: Uint8Array,
  bytes: number,
  lz4: Lz4,
): Promise<Uint8Array | string> {
  if (bytes === 0 && stored.length === 0) return stored
  switch (compression) {
    case '':
    case 'none':
      return stored
    case 'zstd':
      return unzstd(stored, bytes, constants.ZSTD_e_end)
    case 'lz4':
      return (await lz4.decompress(stored, bytes)) ?? 'is not a sound lz4 frame'
    default:
      return `is compressed by '${compression}', and only none, lz4 and zstd are read`
  }
}

/** Frames may follow each other, and zlib stops behind the first one. */
function unzstd(stored: Uint8Array, bytes: number, finishFlush: number): Uint8Array | string {
  const frames: Uint8Array[] = []
  let length = 0
  let at = 0
  try {
    do {
      const left = bytes - length
      const options = { maxOutputLength: left + 1, chunkSize: left + SLACK_BYTES, finishFlush, info: true }
      const frame: object = zstdDecompressSync(stored.subarray(at), options)
      if (!hasEngine(frame)) throw new TypeError('zlib did not tell how far it read')
      frames.push(frame.buffer)
      length += frame.buffer.length
      at += frame.engine.bytesWritten
      if (frame.engine.bytesWritten === 0) break
    } while (length < bytes && at < stored.length)
  } catch (error) {
    return `cannot be decompressed: ${error instanceof Error ? error.message : error}`
  }
  const [first, second] = frames
  return first && !second ? first : Buffer.concat(frames)
}

/** What zlib returns with `info`, which its types do not know. */
function hasEngine(frame: object): frame is { buffer: Uint8Array; engine: { bytesWritten: number } } {
  return 'buffer' in frame && frame.buffer instanceof Uint8Array && 'engine' in frame
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
