import type { Transaction } from 'kysely'
import { fromKysely, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { Connection, Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { type Claim, claimOf, giveBack } from './claim.ts'
import { DELIVERIES, type DeliveryQueue, openDeliveryQueue, putQueue } from './delivery-queue.ts'

// The queue: jobs live in the same database, are written in the transaction that causes them, and are tried
// again when their worker dies. pg-boss does the work behind `enqueue` and `work`; nothing else knows it.

/** What each job carries. A job without a handler does not start. */
export type JobData = {
  'process-session': { sessionId: string }
  /** What is left of `process-session` after its last try. */
  'give-up-session': { sessionId: string }
  'remove-objects': { sessionId: string; objects: string[] | 'all' }
}
export type JobName = keyof JobData

export type Handlers = { [Name in JobName]: (data: JobData[Name], claim: Claim) => Promise<void> }

/** What is nobody's fault and passes: a job that meets it is put back, and it does not count as a try. */
export type Outages = { db: Db; isOutage: (error: unknown) => boolean }

export type Jobs = {
  /** Adds a job in the caller's transaction: it exists if and only if that commits. */
  enqueue<Name extends JobName>(trx: Transaction<Tables>, name: Name, data: JobData[Name]): Promise<void>
  work(handlers: Handlers, outages?: Outages): Promise<void>
  /** Deliveries are pulled rather than worked on: many at once, with a say in whose. */
  deliveries: DeliveryQueue
  backlog(): Promise<Backlog[]>
  stop(): Promise<void>
}

/** What a queue has to do: due now, to be tried later, being done, and for how long one has been due. */
export type Backlog = { queue: string; due: number; later: number; running: number; oldestS: number }

type QueueSettings = { concurrency: number; retries: number; maxHours: number; giveUp?: JobName }

const queues: Record<JobName, QueueSettings> = {
  'give-up-session': { concurrency: 1, retries: 1000, maxHours: 1 },
  'remove-objects': { concurrency: 2, retries: 1000, maxHours: 1 },
  'process-session': { concurrency: 2, retries: 2, maxHours: 12, giveUp: 'give-up-session' },
}
const names = Object.keys(queues) as JobName[]

/** A job whose worker was killed is missed after this and taken again by the next supervision. */
const HEARTBEAT_S = 10
const SUPERVISE_S = 5
/** Only for jobs that nobody was notified of: retries, and those of a lost notification. */
const POLL_S = 1
const STOP_TIMEOUT_MS = 10_000
/** Jobs that are not done by then are put back, for which some of the time is left. */
const PUT_BACK_AFTER_MS = 8_000
const OUTAGE_PAUSE_S = 2
const QUERY_TIMEOUT_MS = 120_000

export async function openJobs(
  connection: Connection,
  onError: (error: Error) => void,
  { pollS = POLL_S, outagePauseS = OUTAGE_PAUSE_S, alone = false } = {},
): Promise<Jobs> {
  // A database that is silent for longer than this is not there any more.
  const patient = { ...connection, query_timeout: QUERY_TIMEOUT_MS }
  const boss = new PgBoss({
    ...patient,
    schema: 'jobs',
    application_name: 'tapedeck jobs',
    max: 6,
    useListenNotify: true,
    schedule: false,
    superviseIntervalSeconds: SUPERVISE_S,
    monitorIntervalSeconds: SUPERVISE_S,
  })
  boss.on('error', onError)
  await boss.start()
  for (const name of names) await ensureQueue(boss, name)
  const deliveries = await openDeliveryQueue(boss)
  if (alone) for (const name of [...names, DELIVERIES]) await takeBack(boss, name)
  const stopping = new AbortController()
  return {
    deliveries,
    backlog: () => backlogOf(boss),
    async enqueue(trx, name, data) {
      await boss.send(name, data, { db: fromKysely(trx) })
    },
    async work(handlers, outages) {
      const working = { boss, handlers, outages, outagePauseS, stopping: stopping.signal, pollS, onError }
      for (const name of names) await workOn(working, name)
    },
    async stop() {
      const impatience = setTimeout(() => stopping.abort(new Error('the service stops')), PUT_BACK_AFTER_MS)
      await boss.stop({ graceful: true, timeout: STOP_TIMEOUT_MS })
      clearTimeout(impatience)
    },
  }
}

async function ensureQueue(boss: PgBoss, name: JobName): Promise<void> {
  const { retries, maxHours, giveUp } = queues[name]
  const options = {
    notify: true,
    retryLimit: retries,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: 60,
    heartbeatSeconds: HEARTBEAT_S,
    expireInSeconds: maxHours * 3600,
    deleteAfterSeconds: 24 * 3600,
    ...(giveUp && { deadLetter: giveUp }),
  }
  await putQueue(boss, name, options)
}

/** Nobody else can be using this database, so whoever has these jobs is dead: nobody need wait until their time is over. */
async function takeBack(boss: PgBoss, name: string): Promise<void> {
  const { rows } = await boss
    .getDb()
    .executeSql(`select id from jobs.job where name = $1 and state = 'active'`, [name])
  const ids = rows.map(({ id }: { id: string }) => id)
  if (ids.length > 0) await boss.fail(name, ids, { message: 'its process has ended' })
}

async function backlogOf(boss: PgBoss): Promise<Backlog[]> {
  const found = await boss.getQueues([...names, DELIVERIES])
  return Promise.all(
    found.map(async ({ name, readyCount, deferredCount, activeCount }) => ({
      queue: name,
      due: readyCount,
      later: deferredCount,
      running: activeCount,
      oldestS: readyCount > 0 ? await longestDueS(boss, name) : 0,
    })),
  )
}

const LOOKED_AT = 10_000

/** Of those that are taken first: a queue may be of any length. */
async function longestDueS(boss: PgBoss, name: string): Promise<number> {
  const { rows } = await boss.getDb().executeSql(
    `select extract(epoch from now() - min(start_after))::float8 as seconds from (
      select start_after from jobs.job where name = $1 and state < 'active' and not blocked
      order by priority desc, created_on limit ${LOOKED_AT}) as first
    where start_after <= now()`,
    [name],
  )
  return rows[0]?.seconds ?? 0
}

type Working = {
  boss: PgBoss
  handlers: Handlers
  outages: Outages | undefined
  outagePauseS: number
  stopping: AbortSignal
  pollS: number
  onError: (error: Error) => void
}

async function workOn<Name extends JobName>(working: Working, name: Name): Promise<void> {
  const { boss, handlers, outages, outagePauseS, stopping, pollS, onError } = working
  const handler = handlers[name]
  if (!handler) throw new Error(`the job ${name} has no handler`)
  const worker: { id?: string } = {}
  worker.id = await boss.work(
    name,
    {
      includeMetadata: true,
      localConcurrency: queues[name].concurrency,
      pollingIntervalSeconds: pollS,
      notifyPollingIntervalSeconds: pollS,
    },
    async ([job]: JobWithMetadata<JobData[Name]>[]) => {
      if (!job) return
      const claim = claimOf(boss, job, stopping)
      try {
        await handler(job.data, claim)
      } catch (error) {
        // It is kept with the job, where nobody looks.
        onError(error instanceof Error ? error : new Error(String(error)))
        if (!outages || !(stopping.aborted || outages.isOutage(error))) throw error
        await giveBack(boss, outages.db, job, claim, stopping.aborted ? 0 : outagePauseS)
      } finally {
        // A worker that takes one job at a time would wait for its next poll although more are queued.
        if (worker.id) boss.notifyWorker(worker.id)
      }
    },
  )
}
