import { openDatabase } from '../../packages/server/src/db/database.ts'
import { startEmbedded } from '../../packages/server/src/db/embedded/start.ts'
import { openJobs } from '../../packages/server/src/jobs/jobs.ts'
import type { Stage } from './stage.ts'

const JOBS = 2_000
const SENDERS = 8

/** Jobs a second that go in, each in a transaction of its own, and through handlers that do nothing; bytes of a done one. */
export async function queueRates(stage: Stage): Promise<Record<string, number>> {
  const postgres = await startEmbedded(`${stage.dir}/queue`)
  stage.after(() => postgres.stop())
  const { db, pool, close } = openDatabase(postgres.connection)
  stage.after(close)
  const jobs = await openJobs(postgres.connection, fail)
  stage.after(jobs.stop)
  const sendingMs = performance.now()
  await Promise.all(
    Array.from({ length: SENDERS }, async (_, sender) => {
      for (let index = 0; index < JOBS / SENDERS; index++) {
        const sessionId = `ses_${sender}_${index}`
        await db.transaction().execute((trx) => jobs.enqueue(trx, 'process-session', { sessionId }))
      }
    }),
  )
  const sentMs = performance.now()
  const { promise, resolve } = Promise.withResolvers<void>()
  let done = 0
  await jobs.work({
    'process-session': async () => {
      done++
      if (done === JOBS) resolve()
    },
    'give-up-session': async () => {},
    'remove-objects': async () => {},
  })
  await promise
  const doneMs = performance.now()
  const { rows } = await pool.query(`select sum(pg_total_relation_size(c.oid))::float8 as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'jobs' and c.relkind in ('r', 'p')`)
  return {
    [`jobs a second that ${SENDERS} transactions at once enqueue`]: JOBS / ((sentMs - sendingMs) / 1000),
    'jobs a second through one worker, two at a time, that do nothing': JOBS / ((doneMs - sentMs) / 1000),
    'bytes of a job, kept for a day after it is done': rows[0].bytes / JOBS,
  }
}

function fail(error: Error): never {
  throw error
}
