import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Database, openDatabase } from '../src/db/database.ts'
import { findRunning } from '../src/db/embedded/start.ts'
import { folderOf, newObjectName } from '../src/storage/object-name.ts'
import { openStorage, type StorageSettings } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/storage.ts'
import { needsProc } from './embedded/processes.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { undoAfter } from './embedded/undo.ts'
import { call } from './support/client.ts'
import { filesOf } from './support/disk.ts'
import { openFaultyStore } from './support/faulty-store.ts'
import { type RunningService, startProcess } from './support/process.ts'
import { s3Env, startStore } from './support/s3.ts'
import { seedSession } from './support/seed.ts'
import { until } from './support/until.ts'

// A session is deleted, and the service is killed while the objects are being removed. After the next start nothing of
// it is left, and everything of another session is.

const PARTS = 300
const TRIES = 5

test('disk: killed in the middle of a deletion, the next start finishes it', {
  skip: needsProc,
}, async (t) => {
  const dataDir = tempDir(t)
  const storage = await openStorage({ kind: 'disk', root: `${dataDir}/recordings` })
  let service = await startProcess(t, { dataDir })
  const { key = '' } = service
  const kept = await seedParts(t, dataDir, storage, 3)
  // Whether a kill comes in the middle is chance: again, until one did.
  let leftAtKill = 0
  for (let tries = 1; leftAtKill === 0 && tries <= TRIES; tries++) {
    const sessionId = await seedParts(t, dataDir, storage, PARTS)
    const more = await addFiles(dataDir, sessionId, 3000 * tries)
    const begun = firstRemoval(dataDir, sessionId)
    await remove(service, key, sessionId)
    await begun
    service.kill('SIGKILL')
    await service.exited
    leftAtKill = await countOf(storage, sessionId)
    assert.ok(leftAtKill < PARTS + more, 'the removal had begun')
    service = await startProcess(t, { dataDir })
    await until('nothing is left', async () => (await filesOf(dataDir, sessionId)).length === 0)
  }
  assert.ok(leftAtKill > 0, 'every kill came after the last file: make more of them')
  assert.equal(await countOf(storage, kept), 3)
})

/** Objects that nobody has synced: to remove many takes a while, to keep them as the service does takes minutes. */
async function addFiles(dataDir: string, sessionId: string, count: number): Promise<number> {
  const part = { sessionId, number: 1, bytes: 0, sha256: createHash('sha256').digest('hex') }
  for (let file = 0; file < count; file++)
    await writeFile(join(dataDir, 'recordings', newObjectName(part)), '')
  return count
}

async function firstRemoval(dataDir: string, sessionId: string): Promise<void> {
  const watcher = watch(join(dataDir, 'recordings', folderOf(sessionId)))
  await once(watcher, 'change')
  watcher.close()
}

test('s3: killed in the middle of a deletion, the next start finishes it', { skip: needsProc }, async (t) => {
  const dataDir = tempDir(t)
  const store = await startStore(1)
  undoAfter(t, () => store.close())
  const bucket = store.bucket()
  const faults = await openFaultyStore(bucket)
  undoAfter(t, () => faults.close())
  const settings: StorageSettings = { kind: 's3', ...bucket }
  const storage = await openStorage(settings)
  undoAfter(t, () => storage.close())
  const env = s3Env(faults.settings)
  const service = await startProcess(t, { dataDir, env })
  const { key = '' } = service
  const [sessionId, kept] = [
    await seedParts(t, dataDir, storage, PARTS),
    await seedParts(t, dataDir, storage, 3),
  ]
  // The request for the deletion is on its way, and its answer never comes.
  faults.inject('hang', (method) => method === 'POST')
  await remove(service, key, sessionId)
  await until('the store is asked to delete', async () => faults.happened() === 1)
  service.kill('SIGKILL')
  await service.exited
  assert.equal(await countOf(storage, sessionId), PARTS)
  await startProcess(t, { dataDir, env })
  await until('nothing is left', async () => (await countOf(storage, sessionId)) === 0)
  assert.equal(await countOf(storage, kept), 3)
})

async function remove({ url }: RunningService, key: string, id: string): Promise<void> {
  assert.equal((await call(url, 'DELETE', `/v1/sessions/${id}`, { key })).status, 200)
}

/** A session with as many parts as wanted, each of a byte: to upload them takes a whole recording. */
async function seedParts(t: TestContext, dataDir: string, storage: Storage, count: number): Promise<string> {
  const { db } = await openDatabaseOf(t, dataDir)
  const sessionId = await seedSession(db, 'default', { part_count: count })
  const sha256 = createHash('sha256').update('x').digest()
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const rows: { session_id: string; number: number; bytes: number; sha256: Buffer; object: string }[] = []
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
        const part = { sessionId, number, bytes: 1, sha256: sha256.toString('hex') }
        const writer = await storage.openPart(part)
        await writer.write([Buffer.from('x')])
        rows.push({ session_id: sessionId, number, bytes: 1, sha256, object: await writer.keep() })
      }
    }),
  )
  await db.insertInto('parts').values(rows).execute()
  return sessionId
}

async function openDatabaseOf(t: TestContext, dataDir: string): Promise<Database> {
  const connection = (await findRunning(dataDir)) ?? assert.fail('the database does not run')
  const database = openDatabase(connection, { maxConnections: 1 })
  undoAfter(t, () => database.close())
  return database
}

async function countOf(storage: Storage, sessionId: string): Promise<number> {
  const pages = await Array.fromAsync(storage.walk(''))
  return pages.flatMap(({ objects }) => objects).filter(({ name }) => name.includes(sessionId)).length
}
