import type { BigIntStats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { SourceError } from '../errors.ts'
import type { Source } from '../upload/source.ts'

/** A file that must stay what it is: its size and its time of change are looked at again. */
export async function openFile(path: string): Promise<Source> {
  const handle = await open(path, 'r').catch((cause: unknown) => {
    throw unreadable(path, cause)
  })
  try {
    const first = await handle.stat({ bigint: true })
    if (first.isDirectory()) throw new SourceError('source_unreadable', `${path} is a folder, not a file`)
    if (!first.isFile()) throw new SourceError('source_unreadable', `${path} is not a regular file`)
    return toSource(path, handle, first)
  } catch (error) {
    await handle.close()
    throw error
  }
}

function toSource(path: string, handle: FileHandle, first: BigIntStats): Source {
  return {
    size: Number(first.size),
    name: basename(path),
    async readInto(buffer, offset) {
      for (let filled = 0; filled < buffer.length; ) {
        const { bytesRead } = await handle
          .read(buffer, filled, buffer.length - filled, offset + filled)
          .catch((cause: unknown) => {
            throw unreadable(path, cause)
          })
        if (bytesRead === 0) throw changed(path, first.size, (await handle.stat({ bigint: true })).size)
        filled += bytesRead
      }
    },
    async check() {
      const now = await handle.stat({ bigint: true })
      if (now.size !== first.size || now.mtimeNs !== first.mtimeNs) throw changed(path, first.size, now.size)
    },
    close: () => handle.close(),
  }
}

function changed(path: string, before: bigint, now: bigint): SourceError {
  const what =
    now > before
      ? `is still being written: it grew from ${before} to ${now} bytes`
      : now < before
        ? `shrank from ${before} to ${now} bytes`
        : 'was written to'
  return new SourceError(
    'source_changed',
    `${path} ${what} while it was uploaded; upload it again when nothing writes to it`,
  )
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read',
  EPERM: 'it may not be read',
  EISDIR: 'it is a folder, not a file',
  EIO: 'the disk cannot read it',
}

function unreadable(path: string, cause: unknown): SourceError {
  const code = cause instanceof Error ? String(Reflect.get(cause, 'code')) : ''
  return new SourceError('source_unreadable', `cannot read ${path}: ${reasons[code] ?? cause}`, cause)
}
