import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { afterEach, beforeEach, test } from 'node:test'
import { type Database, openDatabase } from '../src/db/database.ts'
import { type Handlers, type Jobs, openJobs } from '../src/jobs/jobs.ts'
import { createDatabase } from './support/service.ts'

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

test('a job without a handler keeps the service from starting', async () => {
  const { 'remove-objects': _, ...incomplete } = handlers()
  await assert.rejects(jobs.work(incomplete as Handlers), /remove-objects has no handler/)
})
