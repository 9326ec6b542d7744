import assert from 'node:assert/strict'
import { before, suite, type TestContext, test } from 'node:test'
import type { CreatedSession, Session, SessionList } from '@tapedeck/contract'
import { sql } from 'kysely'
import { Tapedeck, verifyWebhook } from '../../sdk/src/index.ts'
import { openDatabase } from '../src/db/database.ts'
import { openJobs } from '../src/jobs/jobs.ts'
import { undoAfter } from './embedded/undo.ts'
import {
  call,
  complete,
  createSession,
  partsOf,
  putPart,
  recording,
  SMALLEST_PART,
  sha256,
  urlOf,
} from './support/client.ts'
import { type Acknowledged, checkAftermath } from './support/cluster/aftermath.ts'
import { type Cluster, type Member, openCluster, type Role } from './support/cluster/cluster.ts'
import { type PostgresServer, startPostgresServer } from './support/cluster/postgres.ts'
import { type StoreServer, startStoreServer } from './support/cluster/store.ts'
import { type Ending, endWithFile } from './support/ending.ts'
import { type FaultyStore, openFaultyStore } from './support/faulty-store.ts'
import { imuTable } from './support/imu-table.ts'
import { commands } from './support/process.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'
import { s3Env } from './support/s3.ts'
import { until } from './support/until.ts'
import { createEndpoint } from './support/webhooks.ts'

// What single nodes may do to the others: stand still, die of a recording, work twice, leave, have a wrong clock. The
// recording that kills takes as long as all others, most of it waiting for leases: it has a cluster of its own beside.

const file = endWithFile()
/** A failed test leaves no client behind. */
const over = new AbortController()
file.after(async () => over.abort())
let postgres: PostgresServer
let store: StoreServer
before(async () => {
  ;[postgres, store] = await Promise.all([startPostgresServer(file), startStoreServer(file, 2)])
})

const table = imuTable(4000)
/** Leases are 10 s, and are looked after every 5 s. */
const LEASES_MS = 90_000

suite('single nodes', { concurrency: 2 }, () => {
  test('a recording that kills its worker every time is given up after three tries, and others go on', async (t) => {
    const { cluster, receiver } = await open(t)
    const poison = await upload(cluster, table)
    const workers = await Promise.all([startWorker(t, cluster, poison), startWorker(t, cluster, poison)])
    const others: string[] = []
    for (let tries = 1; tries <= 3; tries++) {
      const reads = () => workers.reduce((sum, [, store]) => sum + store.happened(), 0)
      await until(`try ${tries} begins`, async () => reads() === tries, LEASES_MS)
      const [victim] = workers.find(([, store]) => store.holds() > 0) ?? assert.fail()
      await victim.kill()
      const other = await upload(cluster, table)
      await Promise.all([victim.revive(), untilStatus(cluster, other, 'processed')])
      if (tries < 3) assert.equal((await retrieve(cluster, poison)).status, 'processing')
      others.push(other)
    }
    const { issues } = await untilStatus(cluster, poison, 'failed')
    assert.deepEqual(
      issues.map(({ code }) => code),
      ['processing_crashed'],
    )
    const failed = { ...acknowledged(poison), status: 'failed' as const }
    await checkAftermath(t, cluster, receiver, [failed, ...others.map((id) => acknowledged(id))])
  })

  suite('one after the other', { concurrency: 1 }, () => {
    const ending = endWithFile()
    const wanted: Acknowledged[] = []
    let cluster: Cluster
    let receiver: Receiver
    let secret: string
    before(async () => {
      // Shorter than the clocks of two nodes are apart.
      ;({ cluster, receiver, secret } = await open(ending, { TAPEDECK_UPLOAD_TTL_S: '60' }))
    })

    test('a worker that stood still past its lease and wakes up: what it found does not count', async (t) => {
      const id = await upload(cluster, table)
      const [frozen, frozenStore] = await startWorker(t, cluster, id)
      await until('the worker reads', async () => frozenStore.happened() > 0)
      frozen.process().kill('SIGSTOP')
      const [, store] = await startWorker(t, cluster)
      await untilStatus(cluster, id, 'processed')

      // Processed once more, so that the state of the session alone would let the late result in.
      store.inject('hold', isReadOf(id), 100)
      await call(cluster.url, 'POST', `/v1/sessions/${id}/reprocess`, { key: cluster.key })
      await until('the other worker reads', async () => store.happened() > 0)
      frozenStore.release()
      frozen.process().kill('SIGCONT')
      await until('the worker knows', async () =>
        /taken for dead|no longer active under this worker's claim/.test(frozen.process().stderr()),
      )
      assert.equal((await retrieve(cluster, id)).status, 'processing')
      store.release()
      await untilStatus(cluster, id, 'processed')
      wanted.push({ ...acknowledged(id), results: 2 })
      await checkAftermath(t, cluster, receiver, wanted)
    })

    test('a worker that is told to stop puts back what it cannot finish, and that is no try', async (t) => {
      const id = await upload(cluster, table)
      const [stopping, stoppingStore] = await startWorker(t, cluster, id)
      await until('the worker reads', async () => stoppingStore.holds() > 0)
      stopping.process().kill('SIGTERM')
      assert.equal((await stopping.process().exited).code, 0)
      await startWorker(t, cluster)
      await untilStatus(cluster, id, 'processed')
      const database = openDatabase({ connectionString: cluster.databaseUrl }, { maxConnections: 1 })
      undoAfter(t, () => database.close())
      const { rows } = await sql`select retry_limit, retry_count from jobs.job
        where name = 'process-session' and data->>'sessionId' = ${id}`.execute(database.db)
      assert.deepEqual(rows, Array(2).fill({ retry_limit: 2, retry_count: 0 }))
      wanted.push(acknowledged(id))
      await checkAftermath(t, cluster, receiver, wanted)
    })

    test('two workers that both have the job of a session give one result', async (t) => {
      const id = await upload(cluster, table)
      const workers = await Promise.all([startWorker(t, cluster, id), startWorker(t, cluster, id)])
      const jobs = await openJobs({ connectionString: cluster.databaseUrl }, () => {})
      const database = openDatabase({ connectionString: cluster.databaseUrl }, { maxConnections: 1 })
      undoAfter(t, () => Promise.all([jobs.stop(), database.close()]))
      const enqueue = () =>
        database.db.transaction().execute((trx) => jobs.enqueue(trx, 'process-session', { sessionId: id }))
      // Each worker takes two jobs at once: as many as there are until both have one.
      await until('both read it', async () => {
        if (workers.every(([, store]) => store.holds() > 0)) return true
        await enqueue()
        return false
      })
      for (const [, store] of workers) store.release()
      await untilStatus(cluster, id, 'processed')
      wanted.push(acknowledged(id))
      await checkAftermath(t, cluster, receiver, wanted)
    })

    test('a node that is told to stop finishes the parts that are under way, and clients go on with another', async (t) => {
      const leavingStore = await openFaultyStore(cluster.bucket)
      undoAfter(t, () => leavingStore.close())
      leavingStore.inject('hold', isPart, 100)
      const [leaving] = await Promise.all([
        startNode(t, cluster, 'api', s3Env(leavingStore.settings)),
        startNode(t, cluster, 'worker'),
      ])
      const bytes = recording(7, 31)
      const uploading = upload(cluster, bytes, 'noise.bin')
      await until('parts are under way through it', async () => leavingStore.holds() >= 2)
      leaving.process().kill('SIGTERM')
      await until('it takes no more', async () =>
        call(leaving.url(), 'GET', '/v1/sessions', { key: cluster.key }).then(
          ({ status }) => status === 503,
          () => true,
        ),
      )
      leavingStore.release()
      const id = await uploading
      assert.equal((await leaving.process().exited).code, 0)
      await untilStatus(cluster, id, 'failed')
      wanted.push({ id, sha256: sha256(bytes).toString('hex'), status: 'failed' })
      await checkAftermath(t, cluster, receiver, wanted)
    })

    test('nodes whose clocks are five minutes apart sign, page, repeat, verify, process and deliver as one', async (t) => {
      const preload = './packages/server/test/support/cluster/wrong-clock.ts'
      const [program = '', ...args] = commands.service
      const wrong = [program, '--import', preload, ...args]
      const [ahead, behind] = await Promise.all([
        startNode(t, cluster, 'api', { TEST_CLOCK_AHEAD_MS: '150000' }, wrong),
        startNode(t, cluster, 'api', { TEST_CLOCK_AHEAD_MS: '-150000' }, wrong),
        startNode(t, cluster, 'worker', { TEST_CLOCK_AHEAD_MS: '300000' }, wrong),
      ])
      const nodes = [ahead, behind].map((node) => ({ url: node.url(), key: cluster.key }))
      const ids: string[] = []
      for (const [here, there] of [nodes, nodes.toReversed()]) {
        if (!here || !there) assert.fail()
        ids.push(await uploadAcross(here, there))
      }
      for (const id of ids) {
        const { created_at, processed_at } = await untilStatus(cluster, id, 'processed')
        const tookMs = Date.parse(processed_at ?? '') - Date.parse(created_at)
        assert.ok(tookMs > 0 && tookMs < 240_000, `created ${created_at}, processed ${processed_at}`)
      }
      wanted.push(...ids.map((id) => acknowledged(id, longTable)))
      await checkAftermath(t, cluster, receiver, wanted)
      for (const { body, headers, atMs } of receiver.delivered) {
        const nowMs = performance.timeOrigin + atMs
        await verifyWebhook(body, String(headers['service-signature']), secret, { toleranceS: 120, nowMs })
      }
    })
  })
})

const longTable = imuTable(120_000)

/** Every step at the other node than the one before. */
async function uploadAcross(here: Where, there: Where): Promise<string> {
  const body = {
    site: 'lab',
    filename: 'imu0.csv',
    bytes: longTable.length,
    sha256: sha256(longTable).toString('hex'),
    part_size: SMALLEST_PART,
  }
  const headers = { 'Idempotency-Key': `from ${here.url}` }
  const create = ({ url, key }: Where) =>
    call<CreatedSession>(url, 'POST', '/v1/sessions', { key, body, headers })
  const session = (await create(here)).body
  const again = await create(there)
  assert.deepEqual([again.body.id, again.headers.get('idempotent-replayed')], [session.id, 'true'])
  const named: { number: number; etag: string }[] = []
  for (const [index, part] of partsOf(longTable).entries()) {
    const { pathname, search } = new URL(urlOf(session, index + 1))
    const answer = await putPart(`${there.url}${pathname}${search}`, part)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const reset = Number(answer.headers.get('ratelimit-reset'))
    assert.ok(reset >= 0 && reset <= 60, `RateLimit-Reset ${reset}`)
    named.push({ number: index + 1, etag: answer.headers.get('etag') ?? '' })
  }
  const fresh = await retrieve(there, session.id)
  const expiresInMs = Date.parse(fresh.upload?.expires_at ?? '') - Date.now()
  assert.ok(expiresInMs > 0 && expiresInMs <= 61_000, `fresh URLs expire in ${expiresInMs} ms`)
  await createSession(here, table).then(({ id }) =>
    call(there.url, 'DELETE', `/v1/sessions/${id}`, { key: there.key }),
  )
  assert.equal((await complete(here, session.id, named)).status, 200)
  const page = await call<SessionList>(here.url, 'GET', '/v1/sessions?limit=1', { key: here.key })
  const cursor = page.body.next_cursor
  if (cursor !== null)
    assert.equal(
      (await call(there.url, 'GET', `/v1/sessions?limit=1&cursor=${cursor}`, { key: here.key })).status,
      200,
    )
  return session.id
}

type Where = { url: string; key: string }

const isReadOf = (id: string) => (method: string, path: string) => method === 'GET' && path.includes(id)
const isPart = (method: string, path: string) => method === 'PUT' && path.includes('/sessions/')

function acknowledged(id: string, bytes = table): Acknowledged {
  return { id, sha256: sha256(bytes).toString('hex'), status: 'processed' }
}

async function open(
  t: Ending,
  env: Record<string, string> = {},
): Promise<{ cluster: Cluster; receiver: Receiver; secret: string }> {
  const cluster = await openCluster(t, { postgres, store, env })
  const receiver = await startReceiver(t)
  const events = { events: ['session.processed' as const, 'session.failed' as const] }
  const { secret } = await createEndpoint(cluster, receiver.url, events)
  return { cluster, receiver, secret }
}

/** By the SDK, which does not give up; returns the session's id when it is complete. */
async function upload(
  { url, key }: Where,
  bytes: Uint8Array<ArrayBuffer>,
  filename = 'imu0.csv',
): Promise<string> {
  const tapedeck = new Tapedeck({ apiKey: key, baseUrl: url })
  const options = { site: 'lab', filename, partSize: SMALLEST_PART, signal: over.signal }
  return (await tapedeck.sessions.upload(new Blob([bytes]), options)).id
}

/** A worker with a way to the store of its own, on which what it reads of a session may be held. */
async function startWorker(t: TestContext, cluster: Cluster, held?: string): Promise<[Member, FaultyStore]> {
  const faults = await openFaultyStore(cluster.bucket)
  undoAfter(t, () => faults.close())
  if (held !== undefined) faults.inject('hold', isReadOf(held), 100)
  return [await startNode(t, cluster, 'worker', s3Env(faults.settings)), faults]
}

/** A node that ends with the test, so that it takes nothing of the next. */
async function startNode(
  t: TestContext,
  cluster: Cluster,
  role: Role,
  env: Record<string, string> = {},
  command?: string[],
): Promise<Member> {
  const node = await cluster.start(role, env, command)
  undoAfter(t, () => node.kill())
  return node
}

async function retrieve({ url, key }: Where, id: string): Promise<Session> {
  return (await call<Session>(url, 'GET', `/v1/sessions/${id}`, { key })).body
}

function untilStatus(where: Where, id: string, status: Session['status']): Promise<Session> {
  return until(
    `session ${id} is ${status}`,
    async () => {
      const session = await retrieve(where, id)
      return session.status === status && session
    },
    LEASES_MS,
  )
}
