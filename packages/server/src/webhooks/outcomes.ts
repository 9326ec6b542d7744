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

/** Fewer and larger transactions, for the price of telling a little later. */
const GATHER_MS = 15
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
  const changed = await changeDeliveries(trx, firstOfEach(outcomes))
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
 * Changes the deliveries that nobody has changed since they were claimed, logs their attempts, and returns what holds
 * for those. What would be tried again at an endpoint that was disabled meanwhile has failed.
 */
async function changeDeliveries(trx: Db, changes: Changed[]): Promise<Changed[]> {
  if (changes.length === 0) return []
  const ids = changes.map(({ job }) => job.deliveryId)
  const attempts = changes.map(({ change }) => change.attempt)
  // `is true` keeps the index on the status out of it: the planner's idea of how many are pending is always old, and a
  // plan that builds on it can take seconds.
  const { rows } = await sql<{ place: number; ended: boolean }>`
    with outcome as (
      select * from unnest(
        ${ids}::text[],
        ${changes.map(({ job }) => job.attemptsBefore)}::int[],
        ${changes.map(({ change }) => change.status)}::text[],
        ${changes.map(({ change }) => change.delayMs ?? null)}::float8[],
        ${attempts.map((attempt) => attempt?.startedAt ?? null)}::timestamptz[],
        ${attempts.map((attempt) => attempt?.durationMs ?? null)}::int[],
        ${attempts.map((attempt) => attempt?.status ?? null)}::int[],
        ${attempts.map((attempt) => attempt?.error ?? null)}::text[],
        ${attempts.map((attempt) => attempt?.response ?? null)}::text[]
      ) with ordinality as outcome (id, attempts_before, status, delay_ms, started_at, duration_ms, answered, error,
        response, place)
    ), changed as (
      update deliveries set
        status = case when outcome.status = 'pending' and endpoint.status = 'disabled' then 'failed'
          else outcome.status end,
        attempt_count = deliveries.attempt_count + (outcome.started_at is not null)::int,
        round_attempts = deliveries.round_attempts + (outcome.started_at is not null)::int,
        next_attempt_at = case when endpoint.status = 'enabled'
          then now() + outcome.delay_ms * interval '1 millisecond' end
      from outcome, webhook_endpoints endpoint
      where deliveries.id = any(${ids}) and deliveries.id = outcome.id
        and deliveries.attempt_count = outcome.attempts_before and (deliveries.status = 'pending') is true
        and endpoint.id = deliveries.endpoint_id
      returning outcome.*, deliveries.status <> 'pending' as ended
    ), logged as (
      insert into delivery_attempts (delivery_id, number, started_at, duration_ms, status, error, response)
      select id, attempts_before + 1, started_at, duration_ms, answered, error, response
      from changed where started_at is not null
    )
    select place, ended from changed`.execute(trx)
  return rows.flatMap(({ place, ended }) => {
    const found = changes[place - 1]
    if (!found) return []
    return [ended ? { job: found.job, change: { ...found.change, delayMs: undefined } } : found]
  })
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
