import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
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
  uploadAll,
  urlOf,
} from './support/client.ts'
import { type RunningService, startProcess } from './support/process.ts'
import { assertRefused } from './support/refusal.ts'
import { objectsOf, s3Env, startStore } from './support/s3.ts'
import { createDatabase } from './support/service.ts'
import { until } from './support/until.ts'

// Nodes as processes of their own on one PostgreSQL and one S3 store, with nothing else in common.

async function openCluster(t: TestContext) {
  const store = await startStore(1)
  undoAfter(t, () => store.close())
  const bucket = store.bucket()
  const shared = {
    DATABASE_URL: await createDatabase(),
    TAPEDECK_SECRET: 'a secret that only the tests use, and all of them',
    ...s3Env(bucket),
  }
  const start = (role: 'api' | 'worker'): Promise<RunningService> =>
    startProcess(t, { dataDir: tempDir(t), env: { ...shared, TAPEDECK_ROLE: role } })
  return { bucket, start }
}

test('parts arrive at two nodes, a third request completes at either, and a worker processes', async (t) => {
  const { start } = await openCluster(t)
  const first = await start('api')
  const { key = '' } = first
  const [second, worker] = await Promise.all([start('api'), start('worker')])
  const bytes = recording(4, 7)
  const session = await createSession({ url: first.url, key }, bytes)
  const nodes = [first.url, second.url]
  const named = await Promise.all(
    partsOf(bytes).map(async (part, index) => {
      const { pathname, search } = new URL(urlOf(session, index + 1))
      const answer = await putPart(`${nodes[index % 2]}${pathname}${search}`, part)
      assert.equal(answer.status, 200)
      return { number: index + 1, etag: answer.headers.get('etag') ?? '' }
    }),
  )
  assert.equal((await complete({ url: second.url, key }, session.id, named)).status, 200)
  assertRefused(await complete({ url: first.url, key }, session.id, named), 409, 'already_completed')
  assert.equal((await followSession({ url: first.url, key }, session.id)).status, 'failed')
  assert.equal((await call(worker.url, 'GET', '/readyz')).status, 200)
  assertRefused(await call(worker.url, 'GET', '/v1/sessions', { key }), 404, 'route_unknown')
})

test('an API node takes no job: a session waits for a worker, and so do the objects of a deleted one', async (t) => {
  const { start, bucket } = await openCluster(t)
  const { url, key = '' } = await start('api')
  const done = await uploadAll({ url, key }, recording(1, 8))
  const deleted = await uploadAll({ url, key }, recording(1, 9))
  assert.equal((await complete({ url, key }, done.session.id, done.parts)).status, 200)
  await call(url, 'DELETE', `/v1/sessions/${deleted.session.id}`, { key })
  assert.equal((await objectsOf(bucket)).length, 2)
  const { body } = await call<{ status: string }>(url, 'GET', `/v1/sessions/${done.session.id}`, { key })
  assert.equal(body.status, 'processing')
  await start('worker')
  await followSession({ url, key }, done.session.id)
  await until(
    'the objects of the deleted session are gone',
    async () => (await objectsOf(bucket)).length === 1,
  )
})

test('a worker that is killed while it works leaves nothing undone', async (t) => {
  const { start, bucket } = await openCluster(t)
  const { url, key = '' } = await start('api')
  const worker = await start('worker')
  const uploads = []
  for (let seed = 1; seed <= 4; seed++) uploads.push(await uploadAll({ url, key }, recording(2, seed)))
  for (const { session, parts } of uploads) await complete({ url, key }, session.id, parts)
  worker.kill('SIGKILL')
  await worker.exited
  await start('worker')
  for (const { session } of uploads)
    assert.equal((await followSession({ url, key }, session.id)).status, 'failed')
  assert.equal((await objectsOf(bucket)).length, 8)
})
