import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openDatabase } from '../packages/server/src/db/database.ts'
import { startEmbedded } from '../packages/server/src/db/embedded/start.ts'
import { type Handlers, type Jobs, openJobs } from '../packages/server/src/jobs/jobs.ts'
import type { Report } from './report.ts'
import { startProcess } from './support/process.ts'
import { inRounds, median, quantile } from './support/rounds.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const JOBS = 100
const START_LIMIT_MS = 50
const RECOVERY_LIMIT_S = 30
const workerPath = fileURLToPath(new URL('baselines/queue-worker.ts', import.meta.url))

/** How long a job waits for its worker, and how long one whose worker was killed. */
export async function queue(stage: Stage): Promise<Report> {
  const postgres = await startEmbedded(stage.dir)
  stage.after(() => postgres.stop())
  const { connection } = postgres
  const database = openDatabase(connection)
  stage.after(database.close)
  const recovery = await recoverySeconds(stage, connection, database)
  const jobs = await openJobs(connection, fail)
  stage.after(jobs.stop)
  const started = new Map<string, (ms: number) => void>()
  await jobs.work(handlers((id) => started.get(id)?.(performance.now())))
  const notifier = await openNotifier(stage, connection)
  const rounds = await inRounds(ROUNDS, [
    () => latencies(JOBS, (id) => startOf(database, jobs, started, id)),
    () => latencies(JOBS, notifier),
  ])
  const column = (index: number, share: number) =>
    median(rounds.map((round) => quantile(round[index] ?? [], share)))
  return {
    title: 'Queue: from the commit to the work',
    story: `One job after the other, ${JOBS} in a round, from the answer to the commit that enqueued it until its handler runs; median of ${ROUNDS} rounds. The baseline is a bare \`NOTIFY\` to a connection that listens. Then a worker is killed with \`kill -9\` while it holds a job, and the time is taken until another has it.`,
    figures: [
      {
        what: 'commit to start, p50, against a bare `NOTIFY`',
        ours: `${column(0, 0.5).toFixed(1)} ms`,
        baseline: `${column(1, 0.5).toFixed(1)} ms`,
        ratio: column(0, 0.5) / column(1, 0.5),
      },
      {
        what: 'commit to start, p99, against the limit',
        ours: `${column(0, 0.99).toFixed(1)} ms`,
        baseline: `${START_LIMIT_MS} ms`,
        ratio: column(0, 0.99) / START_LIMIT_MS,
        target: { atMost: 1 },
      },
      {
        what: 'the job of a killed worker runs again, against the limit',
        ours: `${recovery.toFixed(1)} s`,
        baseline: `${RECOVERY_LIMIT_S} s`,
        ratio: recovery / RECOVERY_LIMIT_S,
        target: { atMost: 1 },
      },
    ],
  }
}

type Database = ReturnType<typeof openDatabase>
type Connection = Database['connection']

async function latencies(count: number, measure: (id: string) => Promise<number>): Promise<number[]> {
  const found: number[] = []
  for (let index = 0; index < count; index++) found.push(await measure(`${index} ${performance.now()}`))
  return found
}

async function startOf(
  { db }: Database,
  jobs: Jobs,
  started: Map<string, (ms: number) => void>,
  sessionId: string,
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  started.set(sessionId, resolve)
  await db.transaction().execute((trx) => jobs.enqueue(trx, 'process-session', { sessionId }))
  const committedMs = performance.now()
  const startedMs = await promise
  started.delete(sessionId)
  return Math.max(0, startedMs - committedMs)
}

async function openNotifier(stage: Stage, connection: Connection): Promise<() => Promise<number>> {
  const [speaker, listener] = [new pg.Client(connection), new pg.Client(connection)]
  for (const client of [speaker, listener]) {
    await client.connect()
    stage.after(() => client.end())
  }
  await listener.query('listen bench')
  return async () => {
    const heard = once(listener, 'notification').then(() => performance.now())
    await speaker.query('notify bench')
    const saidMs = performance.now()
    return Math.max(0, (await heard) - saidMs)
  }
}

async function recoverySeconds(stage: Stage, connection: Connection, { db }: Database): Promise<number> {
  const jobs = await openJobs(connection, fail)
  const worker = await startProcess(stage, [workerPath, JSON.stringify(connection)], /working/)
  if (!worker.output) throw new Error('the worker has no output')
  const taken = once(worker.output, 'data')
  await db.transaction().execute((trx) => jobs.enqueue(trx, 'process-session', { sessionId: 'held' }))
  await taken
  process.kill(worker.pid, 'SIGKILL')
  const killedMs = performance.now()
  const { promise, resolve } = Promise.withResolvers<number>()
  await jobs.work(handlers(() => resolve(performance.now())))
  const seconds = ((await promise) - killedMs) / 1000
  await jobs.stop()
  return seconds
}

function handlers(onStart: (sessionId: string) => void): Handlers {
  const nothing = async () => {}
  return {
    'process-session': async ({ sessionId }) => onStart(sessionId),
    'give-up-session': nothing,
    'remove-objects': nothing,
  }
}

function fail(error: Error): never {
  throw error
}
