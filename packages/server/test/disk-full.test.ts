import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorBody, Session } from '@tapedeck/contract'
import { openDatabase } from '../src/db/database.ts'
import { setPaused } from '../src/operate/gate.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { undoAfter } from './embedded/undo.ts'
import {
  call,
  complete,
  createSession,
  followSession,
  partsOf,
  putPart,
  recording,
  sha256,
  uploadAll,
} from './support/client.ts'
import { commands, startProcess } from './support/process.ts'
import { createDatabase } from './support/service.ts'

// The service runs in a mount namespace of its own, where its data directory is a small file system in memory.
// We reach into it through /proc to fill it and to make room again; the database is elsewhere.

const DISK_BYTES = 48_000_000
const fixture = join(import.meta.dirname, '../../formats/fixtures/version-4.db3')
const skip = canMount() ? false : 'this system does not allow a mount in a user namespace'

test('a part for which there is no room is refused before it is sent', { skip }, async (t) => {
  const { where, disk } = await start(t)
  const [first = new Uint8Array()] = partsOf(recording(2))
  const { id, upload } = await createSession(where, recording(2))
  const url = upload.parts[0]?.url ?? ''
  // Room for half of the part: without a look at the disk it would be taken to its middle.
  await disk.fill(DISK_BYTES - first.length / 2)
  const waiting = beginPart(url, first)
  waiting.flushHeaders()
  assertStorageUnavailable(await answerTo(waiting))
  waiting.destroy()
  assert.deepEqual(await disk.incoming(), [])
  assert.equal((await retrieve(where, id)).upload?.received.length, 0)
  await disk.makeRoom()
  assert.equal((await putPart(url, first)).status, 200)
})

test('a disk that fills up under a part refuses it and keeps nothing of it', { skip }, async (t) => {
  const { where, disk } = await start(t)
  const [first = new Uint8Array()] = partsOf(recording(2))
  const { id, upload } = await createSession(where, recording(2))
  const url = upload.parts[0]?.url ?? ''
  const sending = beginPart(url, first)
  sending.write(first.subarray(0, first.length / 2))
  await until('bytes of the part are on the disk', async () => (await disk.incomingBytes()) > 0)
  await disk.fill()
  sending.end(first.subarray(first.length / 2))
  assertStorageUnavailable(await answerTo(sending))
  assert.deepEqual(await disk.incoming(), [])
  assert.equal((await retrieve(where, id)).upload?.received.length, 0)
  await disk.makeRoom()
  assert.equal((await putPart(url, first)).status, 200)
})

test('a full disk makes the service not ready, and room makes it ready again', { skip }, async (t) => {
  const { where, disk } = await start(t)
  await disk.fill()
  const full = await call<{ checks: object }>(where.url, 'GET', '/readyz')
  assert.equal(full.status, 503)
  assert.deepEqual(full.body.checks, { database: 'ok', storage: 'unavailable' })
  await disk.makeRoom()
  assert.equal((await call(where.url, 'GET', '/readyz')).status, 200)
})

test('a recording that has to be copied, and for which there is no room, is given up in the end and leaves nothing', {
  skip,
}, async (t) => {
  const { where, disk, db } = await start(t)
  const bytes = new Uint8Array(await readFile(fixture))
  const { session, parts } = await uploadAll(where, bytes, { filename: 'version-4.db3' })
  await setPaused(db, true)
  await complete(where, session.id, parts)
  await disk.fill()
  await setPaused(db, false)
  const { status, issues } = await followSession(where, session.id)
  assert.deepEqual([status, issues.map(({ code }) => code)], ['failed', ['processing_crashed']])
  assert.deepEqual(await disk.temporary(), [])
  await disk.makeRoom()
  await call(where.url, 'POST', `/v1/sessions/${session.id}/reprocess`, { key: where.key })
  assert.equal((await followSession(where, session.id)).status, 'processed')
})

function canMount(): boolean {
  if (process.platform !== 'linux') return false
  const [program = '', ...args] = inNamespace('/mnt', ['true'])
  return spawnSync(program, args).status === 0
}

/** The command, run where `dir` is an empty disk of its own. */
function inNamespace(dir: string, command: string[]): string[] {
  const script = `mount -t tmpfs -o size=${DISK_BYTES} tmpfs "$0" && exec "$@"`
  return ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', script, dir, ...command]
}

async function start(t: TestContext) {
  const dataDir = join(tempDir(t), 'data')
  mkdirSync(dataDir)
  const env = {
    DATABASE_URL: await createDatabase(),
    TAPEDECK_SECRET: 'a secret that only the tests use, and all of them',
    TMPDIR: dataDir,
  }
  const database = openDatabase({ connectionString: env.DATABASE_URL }, { maxConnections: 1 })
  undoAfter(t, () => database.close())
  const service = await startProcess(t, { dataDir, env, command: inNamespace(dataDir, commands.service) })
  // unshare and sh have become the service, so its pid is theirs.
  const disk = openSmallDisk(`/proc/${service.pid}/root${dataDir}`)
  return { where: { url: service.url, key: service.key ?? '' }, disk, db: database.db }
}

function openSmallDisk(dir: string) {
  const filler = join(dir, 'filler')
  const incomingDir = join(dir, 'recordings', 'incoming')
  const incoming = () => readdir(incomingDir)
  return {
    incoming,
    temporary: async () => (await readdir(dir)).filter((name) => name.startsWith('tapedeck-scan-')),
    async incomingBytes(): Promise<number> {
      const sizes = (await incoming()).map(async (name) => (await stat(join(incomingDir, name))).size)
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    },
    /** Takes so many bytes, or all that there are. */
    async fill(bytes = Number.POSITIVE_INFINITY): Promise<void> {
      const file = await open(filler, 'w')
      const block = Buffer.alloc(4096)
      try {
        for (let written = 0; written < bytes; written += block.length) await file.write(block)
      } catch (error) {
        assert.match(String(error), /ENOSPC/)
      } finally {
        await file.close()
      }
    },
    makeRoom: () => rm(filler),
  }
}

function beginPart(url: string, bytes: Uint8Array): ClientRequest {
  const headers = {
    'x-amz-checksum-sha256': sha256(bytes).toString('base64'),
    'Content-Length': bytes.length,
  }
  return request(url, { method: 'PUT', headers })
}

async function answerTo(sending: ClientRequest) {
  const [response]: IncomingMessage[] = await once(sending, 'response')
  assert.ok(response)
  const body: ErrorBody = JSON.parse(Buffer.concat(await response.toArray()).toString())
  const headers = new Headers({ 'retry-after': String(response.headers['retry-after']) })
  return { status: Number(response.statusCode), headers, body }
}

function assertStorageUnavailable(answer: {
  status: number
  headers: Headers
  body: ErrorBody | undefined
}): void {
  assert.equal(answer.status, 503)
  assert.equal(answer.body?.error.code, 'storage_unavailable')
  assert.match(answer.headers.get('retry-after') ?? 'no Retry-After', /^\d+$/)
}

async function retrieve({ url, key }: { url: string; key: string }, id: string): Promise<Session> {
  return (await call<Session>(url, 'GET', `/v1/sessions/${id}`, { key })).body
}

async function until(claim: string, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 30_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadlineMs, `it has not come true that ${claim}`)
    await sleep(10)
  }
}
