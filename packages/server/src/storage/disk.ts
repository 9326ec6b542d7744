import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemCode } from '../errors.ts'
import { newNonce } from '../ids.ts'
import { nothingIfGone, walk } from './disk-walk.ts'
import { folderOf, newObjectName } from './object-name.ts'
import { type NewPart, ObjectLost, type PartWriter, type Storage, StorageUnavailable } from './storage.ts'

// One immutable file for each part. Written to incoming/<nonce> beside the folder of its session, synced, renamed, and
// the folder synced: only then does it exist.

/** Room that is left for the database and the system on the same disk. */
const RESERVE_BYTES = 512 * 2 ** 20
const RESERVE_SHARE = 0.05

export async function openDisk(root: string): Promise<Storage> {
  const incoming = join(root, 'incoming')
  await mkdir(join(root, 'sessions'), { recursive: true })
  await mkdir(incoming, { recursive: true })
  return {
    openPart: (part) => refusingWhenFull(() => openPart(root, part)),
    read: (object, offset, length) => read(join(root, object), offset, length),
    async remove(objects) {
      for (const object of objects) await rm(join(root, object), { force: true })
    },
    removeSession: (sessionId) => rm(join(root, folderOf(sessionId)), { recursive: true, force: true }),
    walk: (place) => walk(root, place),
    removeLeftovers: (ageMs) => removeIncoming(root, ageMs),
    probe: () => refusingWhenFull(() => probe(join(incoming, `probe-${newNonce()}`))),
    close() {},
  }
}

/** Removes what a killed process was writing: all that is older than `ageMs`. */
export async function removeIncoming(root: string, ageMs: number): Promise<void> {
  const incoming = join(root, 'incoming')
  await mkdir(incoming, { recursive: true })
  for (const name of await readdir(incoming)) {
    const found = await stat(join(incoming, name)).catch(nothingIfGone)
    if (found && found.mtimeMs <= Date.now() - ageMs) await rm(join(incoming, name), { force: true })
  }
}

async function openPart(root: string, part: NewPart): Promise<PartWriter> {
  await refuseWithoutRoom(root, part.bytes)
  const path = join(root, 'incoming', newNonce())
  const file = await open(path, 'wx', 0o600)
  const discard = async () => {
    await file.close()
    await rm(path, { force: true })
  }
  return {
    write: (chunks) => refusingWhenFull(() => writeAll(file, chunks)),
    keep: () =>
      refusingWhenFull(async () => {
        await file.sync()
        await file.close()
        const object = newObjectName(part)
        await place(root, path, object)
        return object
      }),
    discard,
  }
}

async function refuseWithoutRoom(root: string, bytes: number): Promise<void> {
  const { bavail, bsize, blocks } = await statfs(root)
  const reserve = Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE)
  if (bavail * bsize - bytes < reserve) {
    throw new StorageUnavailable(`the disk has no room for ${bytes} bytes beside its reserve`)
  }
}

async function writeAll(file: FileHandle, chunks: Uint8Array[]): Promise<void> {
  let left = chunks
  while (left.length > 0) {
    let { bytesWritten } = await file.writev(left)
    let whole = 0
    for (; whole < left.length && bytesWritten >= (left[whole]?.byteLength ?? 0); whole++) {
      bytesWritten -= left[whole]?.byteLength ?? 0
    }
    const [first, ...rest] = left.slice(whole)
    left = first ? [first.subarray(bytesWritten), ...rest] : []
  }
}

async function place(root: string, from: string, object: string): Promise<void> {
  const folder = dirname(join(root, object))
  const made = await mkdir(folder, { recursive: true })
  await rename(from, join(root, object))
  await syncFolder(folder)
  // A new folder is itself an entry in the one above.
  for (let path = folder; made && path !== dirname(made); ) {
    path = dirname(path)
    await syncFolder(path)
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function read(path: string, offset: number, length: number): Promise<Uint8Array> {
  const file = await open(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error
    throw new ObjectLost(`${path} is gone`, { cause: error })
  })
  try {
    const bytes = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled)
      if (bytesRead === 0)
        throw new ObjectLost(`${path} ends at ${offset + filled}; expected ${offset + length} bytes`)
      filled += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

async function probe(path: string): Promise<void> {
  const file = await open(path, 'wx+', 0o600)
  try {
    await file.writeFile('probe')
    await file.sync()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(5), 0, 5, 0)
    if (buffer.toString('latin1', 0, bytesRead) !== 'probe')
      throw new Error(`${path} does not hold what was written`)
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS', 'EIO', 'EMFILE', 'ENFILE'])

async function refusingWhenFull<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!FULL.has(systemCode(error) ?? '')) throw error
    throw new StorageUnavailable(`the storage cannot be written now (${systemCode(error)})`, { cause: error })
  }
}
