import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Source, Visitor } from '../recording.ts'

const BLOCK_BYTES = 4 << 20
/** How much of the work the copy is. */
const SHARE = 0.8

/** Path of a copy of the file in `folder`. */
export async function copyTo(
  folder: string,
  source: Source,
  visitor: Visitor,
  signal: AbortSignal,
): Promise<string> {
  const path = join(folder, 'recording.hdf5')
  const size = source.size()
  const file = await open(path, 'wx')
  try {
    for (let at = 0; at < size; at += BLOCK_BYTES) {
      signal.throwIfAborted()
      await file.write(await source.read(at, Math.min(BLOCK_BYTES, size - at)))
      visitor.progress((SHARE * at) / size)
    }
  } finally {
    await file.close()
  }
  return path
}
