import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import type { Notes } from '../notes.ts'
import type { ScanOptions, Source, Visitor } from '../recording.ts'

// SQLite needs a file, and the recording may lie in an object store: it is copied in blocks, unpacked on the way
// where the recorder compressed the whole file.

const BLOCK_BYTES = 4 << 20
/** What a compressed file may grow to: far more than any sensor's data does, far less than a bomb. */
const MAX_RATIO = 64
const FREE_BYTES = 2 ** 28
const ZSTD_MAGIC = Buffer.of(0x28, 0xb5, 0x2f, 0xfd)

type Place = { visitor: Visitor; notes: Notes; options: ScanOptions }

export function isZstd(head: Uint8Array): boolean {
  return ZSTD_MAGIC.equals(head.subarray(0, ZSTD_MAGIC.length))
}

export async function copyTo(path: string, source: Source, place: Place): Promise<void> {
  await using file = await open(path, 'wx')
  const head = await source.read(0, Math.min(ZSTD_MAGIC.length, source.size()))
  if (isZstd(head)) await unpack(file, source, place)
  else for await (const block of blocks(source, place)) await file.writeFile(block)
}

async function* blocks(source: Source, { visitor, options }: Place) {
  const size = source.size()
  for (let at = 0; at < size; at += BLOCK_BYTES) {
    options.signal.throwIfAborted()
    // Half of the work is the copy.
    visitor.progress(at / size / 2)
    yield await source.read(at, Math.min(BLOCK_BYTES, size - at))
  }
}

async function unpack(file: FileHandle, source: Source, place: Place): Promise<void> {
  const maxBytes = source.size() * MAX_RATIO + FREE_BYTES
  let written = 0
  const write = async (unpacked: AsyncIterable<Uint8Array>) => {
    for await (const block of unpacked) {
      if (written + block.length > maxBytes) throw new TooLarge()
      await file.writeFile(block)
      written += block.length
    }
  }
  try {
    const { signal } = place.options
    await pipeline(Readable.from(blocks(source, place)), createZstdDecompress(), write, { signal })
  } catch (error) {
    const problem = zstdProblem(error)
    if (error instanceof TooLarge) noteBomb(place.notes, source, maxBytes)
    else if (problem) noteBroken(place.notes, source, problem, written)
    else throw error
  }
}

/** Ends the pipeline; what was written so far is read. */
class TooLarge extends Error {}

function noteBomb(notes: Notes, source: Source, maxBytes: number) {
  const detail = () =>
    `the ${source.size()} bytes of zstd unpack to more than ${maxBytes}, which no recording does; the rest is not read`
  notes.add({ code: 'recording_truncated', kind: 'zstd', detail })
}

/** Undefined for errors that are not the file's. */
function zstdProblem(error: unknown): { code: string; message: string } | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const code = String(error.code)
  return code.startsWith('ZSTD_') || code.startsWith('Z_') ? { code, message: error.message } : undefined
}

function noteBroken(
  notes: Notes,
  source: Source,
  problem: { code: string; message: string },
  written: number,
) {
  const isCut = problem.code === 'Z_BUF_ERROR'
  const detail = () =>
    `the ${source.size()} bytes of zstd ${isCut ? 'end before their frame does' : `break: ${problem.message}`}; ` +
    `${written} bytes came out of them and are read`
  notes.add({ code: isCut ? 'recording_truncated' : 'chunk_corrupt', kind: 'zstd', detail })
}
