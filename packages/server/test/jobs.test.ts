import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { afterEach, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { type Database, openDatabase } from '../src/db/database.ts'
import type { Claim } from '../src/jobs/claim.ts'
import { type Handlers, type Jobs, openJobs } from '../src/jobs/jobs.ts'
import { createDatabase } from './support/service.ts'
import { until } from './support/until.ts'

let database: Database
let jobs: Jobs
let ran: EventEmitter
beforeEach(async () => {
  const connection = { connectionString: await createDatabase() }
  database = openDatabase(connection)
  jobs = await openJobs(connection, (error) => assert.fail(error))
  ran = new EventEmitter()
})
afterEach(async () => {
  await jobs.stop()
  await database.close()
})

const handlers = (change: Partial<Handlers> = {}): Handlers => ({
  'process-session': async ({ sessionId }) => void ran.emit('process-session', sessionId),
  'give-up-session': async ({ sessionId }) => void ran.emit('give-up-session', sessionId),
  'remove-objects': async ({ sessionId }) => void ran.emit('remove-objects', sessionId),
  ...change,
})

const enqueue = (sessionId: string) =>
  database.db.transaction().execute((trx) => jobs.enqueue(trx, 'process-session', { sessionId }))

test('a job exists if and only if the transaction that caused it commits', async () => {
  const rolledBack = database.db.transaction().execute(async (trx) => {
    await jobs.enqueue(trx, 'process-session', { sessionId: 'rolled back' })
    throw new Error('on purpose')
  })
  await assert.rejects(rolledBack, /on purpose/)
  const seen: string[] = []
  ran.on('process-session', (id) => seen.push(id))
  await jobs.work(handlers())
  const next = once(ran, 'process-session')
  await enqueue('committed')
  await next
  assert.deepEqual(seen, ['committed'])
})

test('jobs are started by notice and by each other, not by polls', async () => {
  const patient = await openJobs(database.connection, assert.fail, { pollS: 3600 })
  const count = 30
  const seen = new Set<string>()
  const { promise: all, resolve } = Promise.withResolvers<void>()
  ran.on('process-session', (id) => seen.add(id).size === 2 * count && resolve())
  for (let index = 0; index < count; index++) await enqueue(`before ${index}`)
  await patient.work(handlers())
  for (let index = 0; index < count; index++) await enqueue(`after ${index}`)
  await all
  await patient.stop()
})

test('a job that fails at every try is given up once', async () => {
  let tries = 0
  const failing = async () => {
    tries++
    throw new Error('on purpose')
  }
  await jobs.work(handlers({ 'process-session': failing }))
  const givenUp = once(ran, 'give-up-session')
  await enqueue('poison')
  assert.deepEqual(await givenUp, ['poison'])
  assert.equal(tries, 3)
})

test('a job that meets an outage is put back, and no outage counts as one of its tries', async () => {
  const outages = { db: database.db, isOutage: (error: unknown) => String(error).includes('outage') }
  const tries: string[] = []
  const unlucky = async () => {
    tries.push(tries.length % 2 === 0 ? 'an outage' : 'a fault')
    throw new Error(tries.at(-1))
  }
  const patient = await openJobs(database.connection, () => {}, { outagePauseS: 0 })
  await patient.work(handlers({ 'process-session': unlucky }), outages)
  const givenUp = once(ran, 'give-up-session')
  await enqueue('poison')
  assert.deepEqual(await givenUp, ['poison'])
  assert.equal(tries.filter((met) => met === 'a fault').length, 3)
  await patient.stop()
})

test('a job that was taken over by another worker is not settled by the first, and nothing of it is written', async () => {
  const outcome = once(ran, 'outcome')
  const taken = async ({ sessionId }: { sessionId: string }, claim: Claim) => {
    await sql`update jobs.job set retry_count = retry_count + 1 where data->>'sessionId' = ${sessionId}`.execute(
      database.db,
    )
    ran.emit('outcome', await database.db.transaction().execute((trx) => claim.settle(trx)))
  }
  await jobs.work(handlers({ 'process-session': taken }))
  await enqueue('taken over')
  assert.deepEqual(await outcome, [false])
})

test('a job is settled with what it did, or not at all', async () => {
  const [settled, rolledBack] = [once(ran, 'settled'), once(ran, 'again')]
  const handler = async (_: object, claim: Claim) => {
    const failing = database.db.transaction().execute(async (trx) => {
      await claim.settle(trx)
      throw new Error('on purpose')
    })
    await assert.rejects(failing, /on purpose/)
    ran.emit('again', await database.db.transaction().execute((trx) => claim.settle(trx)))
    ran.emit('settled', await database.db.transaction().execute((trx) => claim.settle(trx)))
  }
  await jobs.work(handlers({ 'process-session': handler }))
  await enqueue('one')
  assert.deepEqual([await rolledBack, await settled], [[true], [false]])
})

test('a job without a handler keeps the service from starting', async () => {
  const { 'remove-objects': _, ...incomplete } = handlers()
  await assert.rejects(jobs.work(incomplete as Handlers), /remove-objects has no handler/)
})

test('who is alone takes back at once the deliveries that the dead had taken', async () => {
  const { db, connection } = database
  const planned = { deliveryId: 'del_1', endpointId: 'we_1', attemptsBefore: 0, delayMs: 0 }
  await db.transaction().execute((trx) => jobs.deliveries.add(trx, [planned]))
  const idsPulledBy = async ({ deliveries }: Jobs) =>
    (await deliveries.pull(db, 10, [])).map(({ deliveryId }) => deliveryId)
  assert.deepEqual(await idsPulledBy(jobs), ['del_1'])
  const beside = await openJobs(connection, (error) => assert.fail(error))
  assert.deepEqual(await idsPulledBy(beside), [])
  await beside.stop()
  const alone = await openJobs(connection, (error) => assert.fail(error), { alone: true })
  assert.deepEqual(await idsPulledBy(alone), ['del_1'])
  await alone.stop()
})

test('the backlog tells what is due and for how long, and what comes later', async () => {
  await enqueue('one')
  await enqueue('two')
  const { db } = database
  const delivery = { endpointId: 'we_1', attemptsBefore: 1 }
  await db.transaction().execute((trx) =>
    jobs.deliveries.add(trx, [
      { ...delivery, deliveryId: 'del_1', delayMs: 3600_000 },
      { ...delivery, deliveryId: 'del_2', delayMs: 1800_000 },
    ]),
  )
  // An hour goes by: an attempt that was planned long ago has not waited since then, but since it was due.
  await sql`update jobs.job set created_on = created_on - interval '1 hour', start_after = start_after - interval '1 hour'
    where name = 'deliver-event' and data ->> 'deliveryId' = 'del_2'`.execute(db)
  const seen = await until('the queues are counted', async () => {
    const all = new Map((await jobs.backlog()).map((backlog) => [backlog.queue, backlog]))
    return all.get('process-session')?.due === 2 && all.get('deliver-event')?.later === 1 && all
  })
  assert.ok((seen.get('process-session')?.oldestS ?? 0) > 0)
  const { oldestS = 0, ...counts } = seen.get('deliver-event') ?? {}
  assert.deepEqual(counts, { queue: 'deliver-event', due: 1, later: 1, running: 0 })
  assert.ok(oldestS >= 1800 && oldestS < 3000, `${oldestS} s`)
})
