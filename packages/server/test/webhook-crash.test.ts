import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { systemClock } from '../src/clock.ts'
import { type Database, type Db, isUnavailable, openDatabase } from '../src/db/database.ts'
import { findRunning } from '../src/db/embedded/start.ts'
import { CLAIM_S } from '../src/jobs/delivery-queue.ts'
import { openJobs } from '../src/jobs/jobs.ts'
import { announce } from '../src/webhooks/plan.ts'
import { needsProc } from './embedded/processes.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { type RunningService, startProcess } from './support/process.ts'
import { startReceiver } from './support/receiver.ts'
import { organisationId } from './support/seed.ts'
import { createEndpoint } from './support/webhooks.ts'

// The service is killed while it delivers, again and again, and its database dies with it. Events are committed all
// the while by the service's own function, from this process. When in the flow of deliveries a kill comes is drawn
// from a fixed seed.

const SEED = 20_260_314
const EVENTS = 2_000
const ENDPOINTS = 20
const KILLS = 10
const ALL = EVENTS * ENDPOINTS
const SCALE = 0.01
/** Of so many events one is refused by every receiver at first. */
const REFUSED_EVERY = 50
/** Events are committed while deliveries go on, not all before them. */
const MAX_AHEAD = ALL / 5
const DELIVERED_WITHIN_MS = 240_000

const moments = fc.record({
  deliveries: fc.integer({ min: 1, max: Math.floor((ALL * 1.6) / KILLS) }),
  delayMs: fc.integer({ min: 0, max: 40 }),
})

/** What arrived at one endpoint of one object, in order. */
type Receipt = { atMs: number; answered: number }
type Kill = { fromMs: number; toMs: number }

test('every event reaches every endpoint, though the service is killed ten times meanwhile', {
  skip: needsProc,
}, async (t) => {
  const dataDir = tempDir(t)
  const restart = () => startProcess(t, { dataDir, env: { TAPEDECK_WEBHOOK_RETRY_SCALE: String(SCALE) } })
  const life: { service: Promise<RunningService> } = { service: restart() }
  const receivers = await startReceivers(t)
  await subscribeAll(await life.service, receivers.urls)
  const database = await openDatabaseOf(t, dataDir)
  using over = endingSignal()
  const announced = announceAll(database, life, receivers.count, over.signal)
  announced.catch(() => {}) // heard when it is awaited below

  const kills: Kill[] = []
  let next = 0
  for (const { deliveries, delayMs } of fc.sample(moments, { seed: SEED, numRuns: KILLS })) {
    next += deliveries
    // The first to fail says more than a kill that never comes.
    await Promise.race([receivers.until(Math.min(next, ALL - 1), delayMs), announced.then(() => forever)])
    const running = await life.service
    const fromMs = performance.now()
    running.kill('SIGKILL')
    life.service = running.exited.then(restart)
    await running.exited
    kills.push({ fromMs, toMs: performance.now() })
    await life.service
  }
  const { acknowledged, outages } = await announced
  assert.ok(outages > 0, 'no commit has met a kill: the moments are badly chosen')
  await untilNothingPending(database.db)

  const objects = await announcedObjects(database.db)
  assert.deepEqual(
    acknowledged.filter((id) => !objects.includes(id)),
    [],
    'what was acknowledged is there',
  )
  checkArrived(receivers.receipts, objects)
  checkDuplicates(receivers.receipts, kills)
  await checkLog(database.db, objects.length)
  t.diagnostic(summary(receivers.receipts, objects.length, kills))
})

const forever = new Promise<never>(() => {})

/** Aborts at the end of its block, so that a failed test leaves nobody behind who announces. */
function endingSignal(): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  return { signal: controller.signal, [Symbol.dispose]: () => controller.abort() }
}

async function startReceivers(t: TestContext) {
  const receipts = Array.from({ length: ENDPOINTS }, () => new Map<string, Receipt[]>())
  let count = 0
  let due: { count: number; resolve: () => void } | undefined
  const urls: string[] = []
  for (const received of receipts) {
    const receiver = await startReceiver(t, {
      answer: (response, { body, atMs }) => {
        const { id } = JSON.parse(body).data.object
        const before = received.get(id) ?? []
        const answered = before.length === 0 && isRefusedAtFirst(id) ? 500 : 200
        received.set(id, [...before, { atMs, answered }])
        response.writeHead(answered).end()
        // The requests themselves would fill the memory.
        receiver.delivered.length = 0
        count++
        if (due && count >= due.count) due.resolve()
      },
    })
    urls.push(receiver.url)
  }
  return {
    urls,
    receipts,
    count: () => count,
    /** Resolves a moment after so many deliveries have arrived in all. */
    async until(wanted: number, delayMs: number) {
      const { promise, resolve } = Promise.withResolvers<void>()
      due = { count: wanted, resolve }
      if (count < wanted) await promise
      await sleep(delayMs)
    },
  }
}

const isRefusedAtFirst = (id: string) => Number(id.slice('exp_'.length)) % REFUSED_EVERY === 0

async function subscribeAll({ url, key = '' }: RunningService, targets: string[]): Promise<void> {
  for (const target of targets) await createEndpoint({ url, key }, target, { events: ['export.completed'] })
}

async function openDatabaseOf(t: TestContext, dataDir: string): Promise<Database> {
  const connection = await findRunning(dataDir)
  assert.ok(connection, 'PostgreSQL runs')
  const database = openDatabase(connection, { maxConnections: 4 })
  // Every kill breaks connections here too, also those that are between two statements.
  database.pool.on('connect', (client) => void client.on('error', () => {}))
  t.after(() => database.close())
  return database
}

/** Commits event after event through every outage; an event whose commit was not acknowledged is given up. */
async function announceAll(
  { db, connection }: Database,
  life: { service: Promise<RunningService> },
  received: () => number,
  signal: AbortSignal,
): Promise<{ acknowledged: string[]; outages: number }> {
  const jobs = await openJobs(connection, () => {})
  const announcer = { clock: systemClock, jobs, retryScale: SCALE }
  const organisation = await organisationId(db, 'default')
  const acknowledged: string[] = []
  let outages = 0
  for (let number = 0; acknowledged.length < EVENTS && !signal.aborted; number++) {
    while (!signal.aborted && acknowledged.length * ENDPOINTS - received() > MAX_AHEAD) await sleep(5)
    const object = { id: `exp_${number}` }
    const event = { organisationId: organisation, type: 'export.completed' as const, object }
    try {
      await db.transaction().execute((trx) => announce(announcer, trx, event))
      acknowledged.push(object.id)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      outages++
      await sleep(10)
      await life.service
    }
  }
  // From here on only the service itself can find the claims of those that were killed.
  await jobs.stop()
  return { acknowledged, outages }
}

async function untilNothingPending(db: Db): Promise<void> {
  const deadlineMs = performance.now() + DELIVERED_WITHIN_MS
  for (let pending = 1; pending > 0; await sleep(50)) {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from deliveries where status = 'pending'`.execute(db)
    pending = rows[0]?.count ?? 0
    assert.ok(performance.now() < deadlineMs, `${pending} deliveries are still pending`)
  }
}

async function announcedObjects(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select body::jsonb #>> '{data,object,id}' as id from events`.execute(db)
  return rows.map(({ id }) => id)
}

function checkArrived(receipts: Map<string, Receipt[]>[], objects: string[]): void {
  const lost = receipts.flatMap((received, endpoint) =>
    objects
      .filter((id) => !received.get(id)?.some(({ answered }) => answered === 200))
      .map((id) => `${id} at endpoint ${endpoint}`),
  )
  assert.deepEqual(lost, [])
}

/**
 * What a receiver has taken comes again only where its success could not be written: a kill lies between, or the claim
 * ran out, on a machine that stood still for so long.
 */
function checkDuplicates(receipts: Map<string, Receipt[]>[], kills: Kill[]): void {
  const unexplained = receipts.flatMap((received) =>
    [...received].flatMap(([id, list]) =>
      list
        .slice(1)
        .filter(({ atMs }, index) => {
          const before = list[index]
          const killed = kills.some(({ fromMs, toMs }) => before && before.atMs <= toMs && atMs >= fromMs)
          const ranOut = before !== undefined && atMs - before.atMs >= CLAIM_S * 1000
          return before?.answered === 200 && !killed && !ranOut
        })
        .map(() => id),
    ),
  )
  assert.deepEqual(unexplained, [])
}

/** Each delivery has its attempts in the log, numbered without a gap, and one success, which is the last. */
async function checkLog(db: Db, events: number): Promise<void> {
  const { rows } = await sql<{ count: number; wrong: number }>`
    select count(*) as count, count(*) filter (where not (status = 'succeeded' and logged = attempt_count
      and successes = 1 and last_success = logged)) as wrong
    from (
      select delivery.id, delivery.status, delivery.attempt_count, count(attempt.number) as logged,
        count(attempt.number) filter (where attempt.error is null) as successes,
        max(attempt.number) filter (where attempt.error is null) as last_success
      from deliveries delivery left join delivery_attempts attempt on attempt.delivery_id = delivery.id
      group by delivery.id
    ) as logs`.execute(db)
  assert.deepEqual(rows[0], { count: events * ENDPOINTS, wrong: 0 })
}

function summary(receipts: Map<string, Receipt[]>[], events: number, kills: Kill[]): string {
  const all = receipts.flatMap((received) => [...received.values()])
  const successes = all.map((list) => list.filter(({ answered }) => answered === 200).length)
  const twice = successes.filter((count) => count > 1).length
  const times = all.flat().map(({ atMs }) => atMs)
  const [first = 0, last = 0] = [
    times.reduce((a, b) => Math.min(a, b)),
    times.reduce((a, b) => Math.max(a, b)),
  ]
  return `${events} events, ${times.length} requests in ${((last - first) / 1000).toFixed(1)} s, ${twice} deliveries arrived more than once, ${kills.length} kills`
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
