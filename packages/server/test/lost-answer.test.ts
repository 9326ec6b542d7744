import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CreatedSession, Session, SessionList } from '@tapedeck/contract'
import { sql } from 'kysely'
import { undoAfter } from './embedded/undo.ts'
import {
  type Answer,
  call,
  complete,
  createSession,
  followSession,
  partsOf,
  putPart,
  recording,
  SMALLEST_PART,
  sha256,
  uploadAll,
} from './support/client.ts'
import { partFiles } from './support/disk.ts'
import { openPostgresProxy, type PostgresProxy } from './support/postgres-proxy.ts'
import { createDatabase, type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

// The database has done what was asked, but its answer never arrives. The client gets a 503; repeating the
// request must end well, whatever the service can know of the first.

const bytes = recording(2, 21)
const CLAIM_KEY = 'insert into idempotency_keys'
const CLAIM_COMPLETION = 'update "sessions" set "completing_node"'

test('a key whose claim was not acknowledged can be used again at once', async (t) => {
  const { service, proxy } = await start(t)
  proxy.loseAnswerTo(CLAIM_KEY)
  await refusedOnce(proxy, () => createWithKey(service))
  assert.equal((await createWithKey(service)).status, 201)
})

test('a create whose commit was not acknowledged is answered with its session, and makes no second', async (t) => {
  const { service, proxy } = await start(t)
  proxy.loseAnswerTo('commit', CLAIM_KEY)
  await refusedOnce(proxy, () => createWithKey(service))
  const again = await createWithKey(service)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  const { body } = await call<SessionList>(service.url, 'GET', '/v1/sessions', { key: service.key })
  assert.deepEqual(
    body.data.map((session) => session.id),
    [again.body.id],
  )
})

test('a part whose row was not acknowledged is kept with its bytes', async (t) => {
  const { service, proxy } = await start(t)
  const session = await createSession(service, bytes)
  const [first, second] = partsOf(bytes)
  assert.ok(first && second)
  const urls = session.upload.parts.map(({ url }) => url)
  proxy.loseAnswerTo('insert into parts')
  await refusedOnce(proxy, () => putPart(urls[0] ?? '', first))
  await putPart(urls[1] ?? '', second)
  const { body } = await call<Session>(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key })
  assert.deepEqual(body.upload?.parts, [])
  const named = (body.upload?.received ?? []).map(({ number, etag }) => ({ number, etag }))
  assert.equal((await complete(service, session.id, named)).status, 200)
})

test('a part whose row the database refused to make leaves nothing', async (t) => {
  const service = await startService()
  undoAfter(t, () => service.close())
  const session = await createSession(service, bytes)
  const [first] = partsOf(bytes)
  assert.ok(first)
  const { db } = service.database
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  await sql`alter database ${sql.id(rows[0]?.name ?? '')} set default_transaction_read_only = on`.execute(db)
  const {
    rows: [changed],
  } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(db)
  await until('all connections are new', async () => {
    const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename is not null and pid <> pg_backend_pid()
        and backend_start < ${changed?.at}`.execute(db)
    return rows.length === 0
  })
  const url = session.upload.parts[0]?.url ?? ''
  // The first may meet a connection that is ending, before anything is kept.
  for (let tries = 0; tries < 3; tries++) assert.equal((await putPart(url, first)).status, 503)
  await until('nothing is left', async () => (await partFiles(service.dataDir, session.id, 1)).length === 0)
})

test('a completion whose claim was not acknowledged can be repeated at once', async (t) => {
  const { service, proxy } = await start(t)
  const { session, parts } = await uploadAll(service, bytes)
  proxy.loseAnswerTo(CLAIM_COMPLETION)
  await refusedOnce(proxy, () => complete(service, session.id, parts))
  assert.equal((await complete(service, session.id, parts)).status, 200)
})

test('a completion whose commit was not acknowledged goes on to its end', async (t) => {
  const { service, proxy } = await start(t)
  const { session, parts } = await uploadAll(service, bytes)
  proxy.loseAnswerTo('commit', CLAIM_COMPLETION)
  await refusedOnce(proxy, () => complete(service, session.id, parts))
  await followSession(service, session.id)
})

async function start(t: TestContext): Promise<{ service: Service; proxy: PostgresProxy }> {
  const proxy = await openPostgresProxy(t, await createDatabase())
  const service = await startService({ env: { DATABASE_URL: proxy.url } })
  undoAfter(t, () => service.close())
  return { service, proxy }
}

async function refusedOnce(proxy: PostgresProxy, send: () => Promise<Answer>): Promise<void> {
  const { status, body } = await send()
  assert.ok(proxy.hasLost(), 'the statement was not seen')
  assert.equal(status, 503, JSON.stringify(body))
}

function createWithKey(service: Service): Promise<Answer<CreatedSession>> {
  return call<CreatedSession>(service.url, 'POST', '/v1/sessions', {
    key: service.key,
    body: {
      site: 'lab',
      filename: 'run.mcap',
      bytes: bytes.length,
      sha256: sha256(bytes).toString('hex'),
      part_size: SMALLEST_PART,
    },
    headers: { 'Idempotency-Key': 'one key' },
  })
}
