import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { Overrides } from '../src/app/base.ts'
import { openDatabase } from '../src/db/database.ts'
import { newId } from '../src/ids.ts'
import { collectAll } from '../src/operate/collect-all.ts'
import { ABANDONED_MS, findUnnamed } from '../src/operate/unnamed-objects.ts'
import { MAX_PART_MS } from '../src/sessions/parts.ts'
import { folderOf, newObjectName } from '../src/storage/object-name.ts'
import { openStorage, type StorageSettings } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/storage.ts'
import { needsProc } from './embedded/processes.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { undoAfter } from './embedded/undo.ts'
import {
  call,
  checksum,
  complete,
  createSession,
  putPart,
  recording,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { testClock } from './support/clock.ts'
import { filesOf, incomingFiles } from './support/disk.ts'
import { endWithFile } from './support/ending.ts'
import { holding } from './support/hold.ts'
import { startProcess } from './support/process.ts'
import { head, openRaw } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { s3Env, startStore, type TestStore } from './support/s3.ts'
import { seedSession } from './support/seed.ts'
import { createDatabase, type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

const DAY_MS = 24 * 3600_000
const often: Overrides = { collectPace: { firstAfterMs: 0, lookEveryMs: 20, walkEveryMs: 0, pauseMs: 0 } }
const once: Overrides = { collectPace: { firstAfterMs: 0, lookEveryMs: 20, walkEveryMs: DAY_MS, pauseMs: 0 } }

const clock = testClock()
let service: Service
let store: TestStore
const ending = endWithFile()
before(async () => {
  store = await startStore(1)
  ending.after(() => store.close())
  service = await startService({ clock })
  ending.after(() => service.close())
})

const sha256 = createHash('sha256').update('x').digest()
const newName = (sessionId: string, number = 1) =>
  newObjectName({ sessionId, number, bytes: 1, sha256: sha256.toString('hex') })

async function seedPart({ database }: Service, sessionId: string, number: number): Promise<string> {
  const object = newName(sessionId, number)
  await database.db
    .insertInto('parts')
    .values({ session_id: sessionId, number, bytes: 1, sha256, object })
    .execute()
  return object
}

async function seedDeleted({ database }: Service): Promise<string> {
  const sessionId = newId('ses', Date.now())
  await database.db.insertInto('deleted_sessions').values({ session_id: sessionId }).execute()
  return sessionId
}

test('what a row names is never found, however old it is and whatever became of its session', async () => {
  const { db } = service.database
  const objects = []
  for (const status of ['uploading', 'uploaded', 'processing', 'processed', 'failed'] as const) {
    const sessionId = await seedSession(db, 'default', { status, part_count: 2 })
    for (const number of [1, 2]) objects.push(await seedPart(service, sessionId, number))
  }
  const found = await findUnnamed(
    db,
    objects.map((name) => ({ name, ageMs: 1000 * DAY_MS })),
  )
  assert.deepEqual(found, { leftOver: [], deletedSessions: [], ofDeleted: [], unknown: [] })
})

test('beside a part that has its row, another object of the same part is left over once the session is completed', async () => {
  const { db } = service.database
  for (const status of ['uploaded', 'processing', 'processed', 'failed'] as const) {
    const sessionId = await seedSession(db, 'default', { status })
    const [named, other] = [await seedPart(service, sessionId, 1), newName(sessionId)]
    const { leftOver } = await findUnnamed(db, [
      { name: named, ageMs: 0 },
      { name: other, ageMs: 0 },
    ])
    assert.deepEqual(leftOver, [other])
  }
})

test('while a session is uploading an object without a row may be on its way to one, for days', async () => {
  const { db } = service.database
  const sessionId = await seedSession(db, 'default', { status: 'uploading' })
  const name = newName(sessionId)
  const leftOver = async (ageMs: number) => (await findUnnamed(db, [{ name, ageMs }])).leftOver
  assert.deepEqual(await leftOver(MAX_PART_MS + DAY_MS), [])
  assert.deepEqual(await leftOver(ABANDONED_MS), [name])
})

test('objects of a session that was deleted here go; of one that was never here, and with other names, they stay', async () => {
  const { db } = service.database
  const deleted = await seedDeleted(service)
  const [left, stranger] = [newName(deleted), newName(newId('ses', Date.now()))]
  const misplaced = left.replace(/^sessions\/../, 'sessions/zz')
  const other = `${folderOf(deleted)}notes.txt`
  const all = [left, stranger, misplaced, other]
  assert.deepEqual(
    await findUnnamed(
      db,
      all.map((name) => ({ name, ageMs: 2 * DAY_MS })),
    ),
    { leftOver: [], deletedSessions: [deleted], ofDeleted: [left], unknown: [misplaced, other, stranger] },
  )
  const fresh = await findUnnamed(db, [{ name: stranger, ageMs: 3600_000 }])
  assert.deepEqual(fresh.unknown, [])
})

test('a part that was on its way for days gets no row, so that none can name what the collector has taken away', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  const raw = await openRaw(service.url)
  clock.advance(-MAX_PART_MS)
  await raw.send(head('PUT', urlOf(session), { 'Content-Length': bytes.length, ...checksum(bytes) }))
  await raw.send(bytes.subarray(0, 100))
  await until('the part is on its way in', async () => (await incomingFiles(service.dataDir)).length > 0)
  clock.advance(MAX_PART_MS)
  await raw.send(bytes.subarray(100))
  assertRefused(await raw.answer(), 503, 'storage_unavailable')
  raw.hangUp()
  await until(
    'its object is gone',
    async () =>
      (await filesOf(service.dataDir, session.id)).filter((path) => path.includes('00001-')).length === 0,
  )
})

test('killed between an object and its row, the service leaves an object that the collector takes away', {
  skip: needsProc,
}, async (t) => {
  const [dataDir, databaseUrl] = [tempDir(t), await createDatabase()]
  const env = {
    DATABASE_URL: databaseUrl,
    TAPEDECK_SECRET: 'a secret that only the tests use, and all of them',
  }
  const first = await startProcess(t, { dataDir, env })
  const { key = '' } = first
  const { db, close } = openDatabase({ connectionString: databaseUrl }, { maxConnections: 2 })
  undoAfter(t, close)
  const storage = await openStorage({ kind: 'disk', root: `${dataDir}/recordings` })
  const bytes = recording(1)
  const session = await createSession({ url: first.url, key }, bytes)
  // The row of the part waits for that of its session.
  await holding(db, sql`select 1 from sessions where id = ${session.id} for update`, async () => {
    const cut = putPart(urlOf(session), bytes).catch(() => {})
    await until('the object is there', async () => (await namesIn(storage)).length === 1)
    first.kill('SIGKILL')
    await first.exited
    await cut
    // What has arrived at the database is carried out, whoever is gone: its row would be made.
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  })
  const [orphan = ''] = await namesIn(storage)
  const { url } = await startProcess(t, { dataDir, env })
  const { pathname, search } = new URL(urlOf(session))
  const sent = await putPart(`${url}${pathname}${search}`, bytes)
  const parts = [{ number: 1, etag: sent.headers.get('etag') ?? '' }]
  const wishes = { dryRun: false, alsoUnknown: false, tell() {}, signal: new AbortController().signal }
  assert.equal((await collectAll({ db, storage }, wishes)).left_over, 0)
  assert.equal((await complete({ url, key }, session.id, parts)).status, 200)
  assert.deepEqual(await collectAll({ db, storage }, wishes), {
    seen: 2,
    left_over: 1,
    deleted: 0,
    unknown: 0,
  })
  const [kept = '', ...others] = await namesIn(storage)
  assert.notEqual(kept, orphan)
  assert.deepEqual(others, [])
  assert.deepEqual(Buffer.from(await storage.read(kept, 0, bytes.length)), Buffer.from(bytes))
})

for (const kind of ['disk', 's3'] as const) {
  test(`${kind}: the service itself removes what no row names, and leaves all the rest`, async (t) => {
    const bucket = store.bucket
    const env = kind === 's3' ? s3Env(bucket()) : {}
    const collecting = await startService({ env, ...often })
    undoAfter(t, () => collecting.close())
    const storage = await openStorage(settingsOf(collecting, env))
    undoAfter(t, () => storage.close())

    const { session, parts } = await uploadAll(collecting, recording(1))
    const uploading = await createSession(collecting, recording(1))
    const [closed, fresh] = [await plant(storage, session.id), await plant(storage, uploading.id)]
    const stranger = await plant(storage, newId('ses', Date.now()))
    const orphan = await plant(storage, await seedDeleted(collecting))
    const { body } = await call<{ status: string }>(collecting.url, 'GET', `/v1/sessions/${session.id}`, {
      key: collecting.key,
    })
    assert.equal(body.status, 'uploading')
    assert.ok((await namesIn(storage)).includes(closed), 'while a session is uploading nothing is taken away')
    assert.equal((await complete(collecting, session.id, parts)).status, 200)
    await until('what is left over is removed', async () => {
      const names = await namesIn(storage)
      return !names.includes(closed) && !names.includes(orphan)
    })
    const named = await collecting.database.db.selectFrom('parts').select('object').execute()
    assert.deepEqual(await namesIn(storage), [...named.map(({ object }) => object), fresh, stranger].sort())
    await until('it is counted', async () => {
      const text = await (await fetch(`${collecting.url}/metrics`)).text()
      return /^tapedeck_objects_collected_total 2$/m.test(text)
    })
  })
}

test('a walk whose node has died goes on where it was, at one of the others', async (t) => {
  const interrupted = await startService()
  undoAfter(t, () => interrupted.close())
  const storage = await openStorage(settingsOf(interrupted, {}))
  const planted = []
  while (planted.length < 6) planted.push(await plant(storage, await seedDeleted(interrupted)))
  const shardOf = (name: string) => name.split('/').slice(0, 2).join('/')
  const shards = [...new Set(planted.map(shardOf))].sort()
  const place = `${shards[0]}/`
  const { db } = interrupted.database
  await db.insertInto('collections').values({ node_id: 1_000_000, place }).execute()
  const others = await Promise.all([1, 2].map(() => startService({ beside: interrupted, ...once })))
  for (const other of others) undoAfter(t, () => other.close())
  await until('the walk has ended', async () => {
    const [walk] = await db.selectFrom('collections').select('ended_at').execute()
    return walk?.ended_at instanceof Date
  })
  const walks = await db.selectFrom('collections').select(['seen', 'removed', 'unknown']).execute()
  const behind = planted.filter((name) => shardOf(name) !== shards[0]).length
  assert.deepEqual(walks, [{ seen: behind, removed: behind, unknown: 0 }])
  assert.deepEqual(await namesIn(storage), planted.filter((name) => shardOf(name) === shards[0]).sort())
})

function settingsOf({ dataDir }: Service, env: Record<string, string>): StorageSettings {
  if (!env.S3_BUCKET) return { kind: 'disk', root: `${dataDir}/recordings` }
  return {
    kind: 's3',
    bucket: env.S3_BUCKET,
    endpoint: env.S3_ENDPOINT ?? '',
    region: env.S3_REGION ?? '',
    forcePathStyle: true,
    credentials: {
      accessKeyId: env.AWS_ACCESS_KEY_ID ?? '',
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY ?? '',
      sessionToken: undefined,
    },
  }
}

/** An object that no row names. */
async function plant(storage: Storage, sessionId: string): Promise<string> {
  const writer = await storage.openPart({ sessionId, number: 1, bytes: 1, sha256: sha256.toString('hex') })
  await writer.write([Buffer.from('x')])
  return writer.keep()
}

async function namesIn(storage: Storage): Promise<string[]> {
  const pages = await Array.fromAsync(storage.walk(''))
  return pages.flatMap(({ objects }) => objects.map(({ name }) => name)).sort()
}
