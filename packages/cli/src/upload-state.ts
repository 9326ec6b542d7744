import { createHash, randomBytes } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { UploadCheckpoint } from '@tapedeck/sdk'

// What is known of an upload, so that the same command goes on with it after whatever ended it: one small file for each
// file and destination, in the user's state folder, replaced as a whole. It only saves work. What has arrived, the
// service knows.

export type UploadState = {
  /** Of the creation: two commands at once for one file get one session, and so does one that died in it. */
  idempotencyKey: string
  checkpoint?: UploadCheckpoint
  /** The session of an upload that is complete. */
  done?: string
}

export type KeptState = {
  value: UploadState
  save(more: Partial<UploadState>): Promise<void>
  /** Begins anew. */
  forget(): Promise<void>
}

/** Where a recording goes and what is said of it. */
export type Destination = { url: string; site: string; device?: string; notes?: string; partSize?: number }

const KEPT_MS = 30 * 24 * 3600_000

/** A file is who it is by its place on the disk, its size and its time of change; its name may change. */
export async function openState(
  dir: string,
  file: BigIntStats,
  name: string,
  destination: Destination,
): Promise<KeptState> {
  const { url, site, device, notes, partSize } = destination
  const identity = [file.dev, file.ino, file.size, file.mtimeNs].map(String)
  const key = JSON.stringify([identity, name, url, site, device ?? null, notes ?? null, partSize ?? null])
  const path = join(dir, `${createHash('sha256').update(key).digest('hex').slice(0, 40)}.json`)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const kept: KeptState = {
    value: (await readState(path)) ?? (await begin(path)),
    async save(more) {
      kept.value = { ...kept.value, ...more }
      await replace(path, kept.value)
    },
    async forget() {
      await rm(path, { force: true })
      kept.value = await begin(path)
    },
  }
  return kept
}

/** What nobody has come back to. */
export async function sweepStates(dir: string): Promise<void> {
  const names = await readdir(dir).catch(() => [])
  for (const name of names) {
    const path = join(dir, name)
    const found = await stat(path).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(path, { force: true })
  }
}

async function readState(path: string): Promise<UploadState | undefined> {
  try {
    const state: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (typeof state !== 'object' || state === null) return undefined
    return typeof Reflect.get(state, 'idempotencyKey') === 'string' ? (state as UploadState) : undefined
  } catch {
    return undefined
  }
}

/** Of two commands at once one makes the state, and the other uses it. */
async function begin(path: string): Promise<UploadState> {
  const value = { idempotencyKey: randomBytes(16).toString('hex') }
  const fresh = await write(path, value)
  try {
    await link(fresh, path)
    return value
  } catch {
    const theirs = await readState(path)
    if (theirs) return theirs
    // One that cannot be read is of no use to anybody.
    await rename(fresh, path)
    return value
  } finally {
    await rm(fresh, { force: true })
  }
}

async function replace(path: string, value: UploadState): Promise<void> {
  await rename(await write(path, value), path)
}

async function write(path: string, value: UploadState): Promise<string> {
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const handle = await open(fresh, 'wx', 0o600)
  try {
    await handle.writeFile(JSON.stringify(value))
    await handle.sync()
  } finally {
    await handle.close()
  }
  return fresh
}
