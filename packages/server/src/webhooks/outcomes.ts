import type { AttemptError, DeliveryStatus } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { PulledDelivery } from '../jobs/delivery-queue.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { inBatches } from './batches.ts'

// What became of claimed deliveries, written many at a time: the attempt, the state of the delivery, the health of
// the endpoint, the end of the job and the job of the next attempt are one transaction.

export type Attempt = {
  startedAt: Date
  durationMs: number
  status: number | null
  error: AttemptError | null
  response: string
}

export type Change = {
  status: DeliveryStatus
  /** None: not tried, only put off or given up. */
  attempt?: Attempt
  /** When it is tried next, if it is. */
  delayMs?: number | undefined
  /** Silences in a row at this endpoint, and how long it is left alone for them. */
  health?: { timeouts: number; pauseMs: number | undefined } | undefined
}

/** No change: there was nothing to do any more. */
export type Outcome = { job: PulledDelivery; change: Change | undefined }

export type Outcomes = {
  /** Resolves when it is committed. */
  add(outcome: Outcome): Promise<void>
  /** Waits for what was added. */
  close(): Promise<void>
}

const GATHER_MS = 4
const RETRY_MS = 250

export function openOutcomes(deps: { db: Db; jobs: Jobs }, onError: (error: unknown) => void): Outcomes {
  let closing = false

  /** The claims run out if the database stays away; until then it is worth trying. */
  async function writeUntilDone(outcomes: Outcome[]): Promise<() => void> {
    for (;;) {
      try {
        await deps.db.transaction().execute((trx) => write(trx, deps.jobs, outcomes))
        return () => {}
      } catch (error) {
        onError(error)
        if (closing) return () => {}
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  const writing = inBatches(writeUntilDone, { gatherMs: GATHER_MS })
  return {
    add: writing.do,
    async close() {
      closing = true
      await writing.idle()
    },
  }
}

type Changed = { job: PulledDelivery; change: Change }

async function write(trx: Db, jobs: Jobs, outcomes: Outcome[]): Promise<void> {
  const changed = await updateDeliveries(trx, firstOfEach(outcomes))
  await insertAttempts(trx, changed)
  await updateHealth(trx, changed)
  await jobs.deliveries.settle(
    trx,
    outcomes.map(({ job }) => job.jobId),
  )
  await jobs.deliveries.add(
    trx,
    changed.flatMap(({ job: { deliveryId, endpointId, attemptsBefore }, change: { attempt, delayMs } }) =>
      delayMs === undefined
        ? []
        : [{ deliveryId, endpointId, attemptsBefore: attemptsBefore + (attempt ? 1 : 0), delayMs }],
    ),
  )
}

/** A claim that ran out may have been tried twice; the first to be told counts. */
function firstOfEach(outcomes: Outcome[]): Changed[] {
  const first = new Map<string, Changed>()
  for (const { job, change } of outcomes) {
    const key = `${job.deliveryId} ${job.attemptsBefore}`
    if (change && !first.has(key)) first.set(key, { job, change })
  }
  return [...first.values()]
}

/**
 * Changes the deliveries that nobody has changed since they were claimed, and returns what holds for those. What would
 * be tried again at an endpoint that was disabled meanwhile has failed.
 */
async function updateDeliveries(trx: Db, changes: Changed[]): Promise<Changed[]> {
  if (changes.length === 0) return []
  const { rows } = await sql<{ place: number; ended: boolean }>`
    update deliveries set
      status = case when endpoint.status = 'disabled' and outcome.status = 'pending' then 'failed'
        else outcome.status end,
      attempt_count = attempt_count + outcome.tried,
      round_attempts = round_attempts + outcome.tried,
      next_attempt_at = case when endpoint.status = 'enabled'
        then now() + outcome.delay_ms * interval '1 millisecond' end
    from unnest(
      ${changes.map(({ job }) => job.deliveryId)}::text[],
      ${changes.map(({ job }) => job.attemptsBefore)}::int[],
      ${changes.map(({ change }) => (change.attempt ? 1 : 0))}::int[],
      ${changes.map(({ change }) => change.status)}::text[],
      ${changes.map(({ change }) => change.delayMs ?? null)}::float8[]
    ) with ordinality as outcome (id, attempts_before, tried, status, delay_ms, place), webhook_endpoints endpoint
    where deliveries.id = outcome.id
      and deliveries.attempt_count = outcome.attempts_before
      and deliveries.status = 'pending'
      and endpoint.id = deliveries.endpoint_id
    returning outcome.place, deliveries.status <> 'pending' as ended`.execute(trx)
  return rows.flatMap(({ place, ended }) => {
    const found = changes[place - 1]
    if (!found) return []
    return [ended ? { job: found.job, change: { ...found.change, delayMs: undefined } } : found]
  })
}

async function insertAttempts(trx: Db, changed: Changed[]): Promise<void> {
  const made = changed.flatMap(({ job, change }) => (change.attempt ? [{ job, ...change.attempt }] : []))
  if (made.length === 0) return
  await sql`
    insert into delivery_attempts (delivery_id, number, started_at, duration_ms, status, error, response)
    select * from unnest(
      ${made.map(({ job }) => job.deliveryId)}::text[],
      ${made.map(({ job }) => job.attemptsBefore + 1)}::int[],
      ${made.map(({ startedAt }) => startedAt)}::timestamptz[],
      ${made.map(({ durationMs }) => durationMs)}::int[],
      ${made.map(({ status }) => status)}::int[],
      ${made.map(({ error }) => error)}::text[],
      ${made.map(({ response }) => response)}::text[]
    )`.execute(trx)
}

/** The last word on each endpoint counts. Only what changes is written: a healthy endpoint costs nothing. */
async function updateHealth(trx: Db, changed: Changed[]): Promise<void> {
  const last = new Map(
    changed.flatMap(({ job, change }) => (change.health ? [[job.endpointId, change.health] as const] : [])),
  )
  const ids = [...last.keys()].sort()
  if (ids.length === 0) return
  await sql`
    update webhook_endpoints set
      timeouts = health.timeouts,
      paused_until = now() + health.pause_ms * interval '1 millisecond'
    from unnest(
      ${ids}::text[],
      ${ids.map((id) => last.get(id)?.timeouts ?? 0)}::int[],
      ${ids.map((id) => last.get(id)?.pauseMs ?? null)}::float8[]
    ) as health (id, timeouts, pause_ms)
    where webhook_endpoints.id = health.id`.execute(trx)
}
