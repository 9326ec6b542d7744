import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Session } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { S3Settings } from '../src/storage/s3/client.ts'
import { openS3 } from '../src/storage/s3/store.ts'
import {
  call,
  complete,
  createSession,
  followSession,
  partsOf,
  putPart,
  recording,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { endWithFile } from './support/ending.ts'
import { type FaultyStore, openFaultyStore } from './support/faulty-store.ts'
import { imuTable } from './support/imu-table.ts'
import { assertRefused } from './support/refusal.ts'
import { objectsOf, s3Env, startStore } from './support/s3.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

// The whole service with its recordings in an S3 store, and a way to that store that can be broken.

let service: Service
let bucket: S3Settings
let faults: FaultyStore
const ending = endWithFile()
before(async () => {
  const store = await startStore(1)
  ending.after(() => store.close())
  bucket = store.bucket()
  faults = await openFaultyStore(bucket)
  ending.after(() => faults.close())
  service = await startService({ env: s3Env(faults.settings) })
  ending.after(() => service.close())
})

const isPart = (method: string, path: string) => method === 'PUT' && path.includes('/sessions/')
const objects = (id: string) => objectsOf(bucket, `sessions/${id.slice(-2)}/${id}/`)

test('s3: a recording in two parts is uploaded, verified and read', async () => {
  const bytes = imuTable(180_000)
  assert.ok(bytes.length > 8_000_000)
  const { session, parts } = await uploadAll(service, bytes, { filename: 'imu0.csv' })
  assert.equal((await objects(session.id)).length, 2)
  assert.equal((await complete(service, session.id, parts)).status, 200)
  const { status, duration_s, issues } = await followSession(service, session.id)
  assert.deepEqual({ status, duration_s, issues }, { status: 'processed', duration_s: 1799.99, issues: [] })
})

test('s3: a part that does not hash to its checksum leaves nothing in the store', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  const answer = await putPart(urlOf(session), bytes, {
    'x-amz-checksum-sha256': Buffer.alloc(32).toString('base64'),
  })
  assertRefused(answer, 400, 'part_checksum_mismatch')
  assert.deepEqual(await objects(session.id), [])
})

for (const fault of ['busy', 'cut in the body', 'answer lost'] as const) {
  test(`s3: a part whose way to the store meets "${fault}" is asked for again, and then is one object`, async () => {
    const bytes = recording(2, 3)
    const [first = bytes] = partsOf(bytes)
    const session = await createSession(service, bytes)
    faults.inject(fault, isPart)
    const refused = await putPart(urlOf(session), first)
    assertRefused(refused, 503, 'storage_unavailable')
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal((await putPart(urlOf(session), first)).status, 200)
    await until('one object is left', async () => (await objects(session.id)).length === 1)
  })
}

test('s3: a node that did not see the parts verifies them by reading', async () => {
  const { session, parts } = await uploadAll(service, recording(3, 4))
  await service.restart()
  assert.equal((await complete(service, session.id, parts)).status, 200)
})

test('s3: a replaced part is removed, and so is everything of a deleted session', async () => {
  const bytes = recording(2, 5)
  const [first = bytes] = partsOf(bytes)
  const { session } = await uploadAll(service, bytes)
  faults.inject('busy', (method) => method === 'POST', 2)
  assert.equal((await putPart(urlOf(session), first)).status, 200)
  await until('the former object is removed', async () => (await objects(session.id)).length === 2)
  await call(service.url, 'DELETE', `/v1/sessions/${session.id}`, { key: service.key })
  await until('nothing is left', async () => (await objects(session.id)).length === 0)
})

test('s3: a part that the store has lost is an issue, and never read as anything else', async () => {
  const bytes = imuTable(180_000)
  const { session, parts } = await uploadAll(service, bytes, { filename: 'imu0.csv' })
  await lose((await objects(session.id))[1])
  assert.equal((await complete(service, session.id, parts)).status, 200)
  const { status, issues } = await followSession(service, session.id)
  assert.deepEqual([status, issues.map(({ code }) => code)], ['failed', ['recording_lost']])
})

test('s3: a store that is away while a recording is read is waited for, and that does not count as a try', async () => {
  const { session, parts } = await uploadAll(service, imuTable(6000), { filename: 'imu0.csv' })
  // More than one reading asks for.
  faults.inject('busy', (method, path) => method === 'GET' && path.includes(session.id), 5)
  const { body } = await complete(service, session.id, parts)
  assert.equal((body as Session).status, 'processing')
  assert.equal((await followSession(service, session.id)).status, 'processed')
  const { rows } = await sql<{ retry_limit: number; retry_count: number }>`select retry_limit, retry_count
    from jobs.job where name = 'process-session' and data->>'sessionId' = ${session.id}`.execute(
    service.database.db,
  )
  assert.deepEqual(rows, Array(2).fill({ retry_limit: 2, retry_count: 0 }))
})

test('s3: a part that the store has lost before the completion is asked for again, and then the upload is complete', async () => {
  const bytes = recording(3, 6)
  const { session, parts } = await uploadAll(service, bytes)
  await service.restart()
  await lose((await objects(session.id)).find((name) => name.includes('/00002-')))
  const refused = await complete(service, session.id, parts)
  assertRefused(refused, 409, 'parts_missing')
  const { body } = await call<Session>(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key })
  const [missing, ...others] = body.upload?.parts ?? []
  assert.deepEqual([missing?.number, others], [2, []])
  assert.equal((await putPart(missing?.url ?? '', partsOf(bytes)[1] ?? bytes)).status, 200)
  assert.equal((await complete(service, session.id, parts)).status, 200)
  await followSession(service, session.id)
})

test('s3: readiness says whether the store takes and gives bytes', async () => {
  assert.equal((await call(service.url, 'GET', '/readyz')).status, 200)
  faults.inject('busy', () => true, 4)
  const { status, body } = await call(service.url, 'GET', '/readyz')
  assert.deepEqual(
    [status, body],
    [503, { status: 'unavailable', checks: { database: 'ok', storage: 'unavailable' } }],
  )
})

async function lose(object = ''): Promise<void> {
  const storage = await openS3(bucket)
  await storage.remove([object])
  storage.close()
}
