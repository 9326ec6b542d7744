import type { Dirent } from 'node:fs'
import { opendir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import type { Page, StoredObject } from './storage.ts'

// Folders are read entry by entry, in the order in which the file system has them, so a place in the walk is a whole
// shard: whoever was interrupted in one goes over it again.

const PAGE = 1000

export async function* walk(root: string, place: string): AsyncIterable<Page> {
  const shards = (await readdir(join(root, 'sessions'))).map((name) => `sessions/${name}/`).sort()
  let done = place
  for (const shard of shards.filter((name) => name > place)) {
    let objects: StoredObject[] = []
    for await (const object of filesUnder(root, shard)) {
      if (objects.push(object) < PAGE) continue
      yield { objects, place: done }
      objects = []
    }
    done = shard
    if (objects.length > 0) yield { objects, place: done }
  }
}

async function* filesUnder(root: string, folder: string): AsyncIterable<StoredObject> {
  for await (const entry of entriesOf(join(root, folder))) {
    const name = `${folder}${entry.name}`
    if (entry.isDirectory()) yield* filesUnder(root, `${name}/`)
    else {
      const found = await stat(join(root, name)).catch(nothingIfGone)
      if (found) yield { name, ageMs: Date.now() - found.mtimeMs }
    }
  }
}

/** A folder that is removed meanwhile has no entries. */
async function* entriesOf(folder: string): AsyncIterable<Dirent> {
  const entries = await opendir(folder).catch(nothingIfGone)
  if (entries) yield* entries
}

export function nothingIfGone(error: unknown): undefined {
  if (systemCode(error) !== 'ENOENT') throw error
}
