import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded/start.ts'
import { systemCode } from '../src/errors.ts'
import { openStorage } from '../src/storage/open.ts'
import { openClient, type S3Settings } from '../src/storage/s3/client.ts'
import type { Storage } from '../src/storage/storage.ts'
import { childrenOf, needsProc } from './embedded/processes.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { undoAfter } from './embedded/undo.ts'
import { call, complete, createSession, putPart, recording, sha256, urlOf } from './support/client.ts'
import { postmasterOf, startProcess } from './support/process.ts'
import { objectsOf, s3Env, startStore } from './support/s3.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

// Backups as docs/operating.md tells them, taken while uploads are under way, and restored in another place. Whatever was
// acknowledged before a backup is in it, to the last byte.

type Acknowledged = {
  parts: { session: string; sha256: string }[]
  sessions: { id: string; sha256: string }[]
}
type Where = { url: string; key: string }

test('embedded: a snapshot and a copy of the stopped service have everything that was acknowledged', {
  skip: needsProc,
}, async (t) => {
  const places = tempDir(t)
  const [live, snapshot, copy] = ['live', 'snapshot', 'copy'].map((name) => join(places, name)) as [
    string,
    string,
    string,
  ]
  const service = await startProcess(t, { dataDir: live })
  const uploads = keepUploading({ url: service.url, key: service.key ?? '' })
  await uploads.until(12)

  // As a snapshot of the file system: all of it at one moment, in the middle of whatever was being written.
  const postmaster = postmasterOf(live) ?? assert.fail()
  const processes = [service.pid, ...childrenOf(service.pid), postmaster, ...childrenOf(postmaster)]
  send(processes, 'SIGSTOP')
  const beforeSnapshot = uploads.soFar()
  assert.equal(spawnSync('cp', ['--archive', live, snapshot]).status, 0)
  send(processes, 'SIGCONT')
  await uploads.until(uploads.soFar().parts.length + 4)
  await uploads.stop()
  service.kill('SIGTERM')
  await service.exited
  assert.equal(spawnSync('cp', ['--archive', live, copy]).status, 0)

  await rm(join(snapshot, 'pg18', 'postmaster.pid'))
  await assertEmbedded(snapshot, beforeSnapshot)
  await assertEmbedded(copy, uploads.soFar())
})

async function assertEmbedded(dataDir: string, before: Acknowledged): Promise<void> {
  const { connection, stop } = await startEmbedded(dataDir)
  const database = openDatabase(connection, { maxConnections: 1 })
  const storage = await openStorage({ kind: 'disk', root: join(dataDir, 'recordings') })
  await assertWhole(database, storage, before)
  await database.close()
  await stop()
}

test('PostgreSQL and S3: the database first and the bucket after it have everything that was acknowledged', async (t) => {
  const store = await startStore(2)
  undoAfter(t, () => store.close())
  const [bucket, bucketCopy] = [store.bucket(), store.bucket()]
  const live = await startServer(t, tempDir(t))
  const service = await startService({ env: { DATABASE_URL: live.url, ...s3Env(bucket) } })
  undoAfter(t, () => service.close())
  const uploads = keepUploading(service)
  await uploads.until(12)

  const restored = tempDir(t)
  const before = await baseBackup(live.url, join(live.dir, 'pg18'), join(restored, 'pg18'), uploads.soFar)
  await copyObjects(bucket, bucketCopy)
  await uploads.stop()

  const { url } = await startServer(t, restored)
  const again = await startProcess(t, {
    dataDir: tempDir(t),
    env: {
      DATABASE_URL: url,
      TAPEDECK_SECRET: 'only the secrets of endpoints need the same',
      ...s3Env(bucketCopy),
    },
  })
  const database = openDatabase({ connectionString: url }, { maxConnections: 1 })
  const storage = await openStorage({ kind: 's3', ...bucketCopy })
  await assertWhole(database, storage, before)
  await database.close()
  storage.close()
  assert.equal((await call(again.url, 'GET', '/readyz')).status, 200)
})

/** So many are under way through all of a backup, and no more have to be read again. */
const MOST = 60

/** Uploads small recordings, one after the other in two lanes, and completes some: reading them takes long. */
function keepUploading(where: Where) {
  const acknowledged: Acknowledged = { parts: [], sessions: [] }
  let stopping = false
  let seed = 0
  async function lane(): Promise<void> {
    while (!stopping && seed < MOST) {
      const bytes = recording(1, ++seed)
      const toComplete = seed === 2 || seed === 11
      const digest = sha256(bytes).toString('hex')
      const session = await untilTaken(() => createSession(where, bytes))
      const { headers } = await untilTaken(async () => {
        const answer = await putPart(urlOf(session), bytes)
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        return answer
      })
      acknowledged.parts.push({ session: session.id, sha256: digest })
      if (!toComplete) continue
      const parts = [{ number: 1, etag: headers.get('etag') ?? '' }]
      assert.equal((await complete(where, session.id, parts)).status, 200)
      acknowledged.sessions.push({ id: session.id, sha256: digest })
    }
  }
  const lanes = Promise.all([lane(), lane()])
  return {
    soFar: (): Acknowledged => structuredClone(acknowledged),
    until: (parts: number) =>
      until(`${parts} parts are acknowledged`, async () => {
        return acknowledged.parts.length >= parts && acknowledged.sessions.length === 2
      }),
    async stop() {
      stopping = true
      await lanes
    },
  }
}

/** On a machine with too much to do the service refuses, and clients come again. */
async function untilTaken<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (!String(error).includes('"overloaded"')) throw error
    }
  }
}

/** Reads every byte back, as the restored database names it. */
async function assertWhole({ db }: Database, storage: Storage, before: Acknowledged): Promise<void> {
  assert.ok(before.parts.length >= 12 && before.sessions.length >= 2)
  for (const { session, sha256 } of before.parts) {
    const part = await db
      .selectFrom('parts')
      .select(['object', 'bytes', 'sha256'])
      .where('session_id', '=', session)
      .executeTakeFirst()
    assert.ok(part, `the part of ${session} was acknowledged`)
    const bytes = await storage.read(part.object, 0, part.bytes)
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256)
    assert.equal(part.sha256.toString('hex'), sha256)
  }
  for (const { id, sha256 } of before.sessions) {
    const columns = ['sha256', 'status'] as const
    const session = await db.selectFrom('sessions').select(columns).where('id', '=', id).executeTakeFirst()
    assert.equal(session?.sha256.toString('hex'), sha256)
    assert.ok(
      ['processing', 'failed'].includes(session.status),
      `${id} was completed, and is ${session.status}`,
    )
  }
}

function send(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      // A scan that has just ended.
      if (systemCode(error) !== 'ESRCH') throw error
    }
  }
}

async function startServer(t: TestContext, dir: string) {
  const port = await freePort()
  const { stop, connection } = await startEmbedded(dir, { listenTcpPort: port })
  undoAfter(t, () => stop())
  return { dir, url: `postgres://${connection.user}@127.0.0.1:${port}/postgres` }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : assert.fail()
}

/** What pg_basebackup does, which the embedded binaries do not have. Returns what was acknowledged before its end. */
async function baseBackup(url: string, from: string, to: string, soFar: () => Acknowledged) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query("select pg_backup_start('test', fast => true)")
  await copyFiles(from, to, (path) => !path.startsWith('pg_wal/') && path !== 'postmaster.pid')
  const before = soFar()
  const { rows } = await client.query('select labelfile from pg_backup_stop(wait_for_archive => false)')
  await client.end()
  await writeFile(join(to, 'backup_label'), rows[0].labelfile)
  await cp(join(from, 'pg_wal'), join(to, 'pg_wal'), { recursive: true, force: true })
  return before
}

/** Files come and go while they are copied; the log of the database knows what became of them. */
async function copyFiles(from: string, to: string, isWanted: (path: string) => boolean): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(from.length + 1)
    if (entry.isDirectory()) await mkdir(join(to, path), { recursive: true, mode: 0o700 })
    if (!entry.isFile() || !isWanted(path)) continue
    await mkdir(dirname(join(to, path)), { recursive: true, mode: 0o700 })
    await copyFile(join(from, path), join(to, path)).catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error
    })
  }
}

async function copyObjects(from: S3Settings, to: S3Settings): Promise<void> {
  const [source, target] = [await openClient(from), await openClient(to)]
  for (const key of await objectsOf(from, 'sessions/')) {
    const { body } = await source.send({ method: 'GET', key })
    await target.send({ method: 'PUT', key, body })
  }
  source.close()
  target.close()
}
