import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { DELIVERIES } from '../jobs/delivery-queue.ts'
import type { Backlog, Jobs } from '../jobs/jobs.ts'
import { every } from './housekeeping.ts'
import type { Metrics } from './metrics.ts'

// What there is to do for the service as a whole, the same on every node. It is asked for now and then and not when
// somebody looks: metrics are told at once, also while the database is away.

type Walked = { ageS: number; unknown: number }
type Known = { queues: Backlog[]; walked: Walked | undefined; atMs: number }

const ASK_EVERY_MS = 10_000
/** What is older is not told any more. */
const FRESH_MS = 60_000

export function watchBacklog(
  { db, jobs, metrics }: { db: Db; jobs: Jobs; metrics: Metrics },
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  let known: Known | undefined
  const fresh = () => (known && performance.now() - known.atMs < FRESH_MS ? known : undefined)
  const ofEach = (value: (queue: Backlog) => number) => () =>
    (fresh()?.queues ?? []).map((queue): [string, number] => [queue.queue, value(queue)])

  metrics.gauges(
    'tapedeck_jobs_due',
    'Jobs that could be worked on now',
    'queue',
    ofEach(({ due }) => due),
  )
  metrics.gauges(
    'tapedeck_jobs_running',
    'Jobs being worked on',
    'queue',
    ofEach(({ running }) => running),
  )
  metrics.gauges(
    'tapedeck_jobs_oldest_seconds',
    'For how long a job has been waiting that could be worked on',
    'queue',
    ofEach(({ oldestS }) => oldestS),
  )
  metrics.gauge(
    'tapedeck_deliveries_pending',
    'Deliveries that have not ended, due or to be tried later',
    () => {
      const queue = fresh()?.queues.find((candidate) => candidate.queue === DELIVERIES)
      return queue && queue.due + queue.later + queue.running
    },
  )
  metrics.gauge(
    'tapedeck_collection_age_seconds',
    'Since all objects were last looked at',
    () => fresh()?.walked?.ageS,
  )
  metrics.gauge(
    'tapedeck_objects_unknown',
    'Objects of sessions that the database has never known, when all were last looked at',
    () => fresh()?.walked?.unknown,
  )
  return every(
    ASK_EVERY_MS,
    async () => {
      const [queues, walked] = await Promise.all([jobs.backlog(), lastWalk(db)])
      known = { queues, walked, atMs: performance.now() }
    },
    onError,
  )
}

async function lastWalk(db: Db): Promise<Walked | undefined> {
  const { rows } = await sql<Walked>`
    select extract(epoch from now() - ended_at)::float8 as "ageS", unknown from collections
    where ended_at is not null order by id desc limit 1`.execute(db)
  return rows[0]
}
