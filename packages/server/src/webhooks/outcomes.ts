import type { AttemptError } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Jobs } from '../jobs/jobs.ts'

// What became of claimed deliveries, written many at a time: the attempt, the state of the delivery, the health of
// the endpoint, the end of the job and the job of the next attempt are one transaction.

export type Attempt = {
  startedAt: Date
  durationMs: number
  status: number | null
  error: AttemptError | null
  response: string
}

export type Outcome = {
  jobId: string
  deliveryId: string
  endpointId: string
  /** Attempts before this one: whoever claims a delivery late, after another has tried it, changes nothing. */
  attemptsBefore: number
  /** Undefined: not tried, only put off. */
  attempt: Attempt | undefined
  status: 'pending' | 'succeeded' | 'failed'
  /** When it is tried next, if it is. */
  delayMs: number | undefined
  /** Timeouts in a row at this endpoint, and how long it is left alone for them. */
  health: { timeouts: number; pauseMs: number | undefined } | undefined
}

export type Outcomes = {
  /** Resolves when it is committed. */
  add(outcome: Outcome): Promise<void>
  /** Waits for what was added. */
  close(): Promise<void>
}

const GATHER_MS = 4
const RETRY_MS = 250

export function openOutcomes(deps: { db: Db; jobs: Jobs }, onError: (error: unknown) => void): Outcomes {
  let gathered: { outcome: Outcome; done: () => void }[] = []
  let writing: Promise<void> | undefined
  let closing = false

  async function writeAll(): Promise<void> {
    while (gathered.length > 0) {
      await delay(closing ? 0 : GATHER_MS)
      const batch = gathered
      gathered = []
      await writeUntilDone(batch.map(({ outcome }) => outcome))
      for (const { done } of batch) done()
    }
    writing = undefined
  }

  /** The claims run out if the database stays away; until then it is worth trying. */
  async function writeUntilDone(outcomes: Outcome[]): Promise<void> {
    for (;;) {
      try {
        await deps.db.transaction().execute((trx) => write(trx, deps.jobs, outcomes))
        return
      } catch (error) {
        onError(error)
        if (closing) return
        await delay(RETRY_MS)
      }
    }
  }

  return {
    add(outcome) {
      return new Promise((done) => {
        gathered.push({ outcome, done })
        writing ??= writeAll()
      })
    },
    async close() {
      closing = true
      await writing
    },
  }
}

async function write(trx: Db, jobs: Jobs, outcomes: Outcome[]): Promise<void> {
  const changed = await updateDeliveries(trx, outcomes)
  const current = outcomes.filter(({ deliveryId }) => changed.has(deliveryId))
  await insertAttempts(trx, current)
  await updateHealth(trx, current)
  await jobs.deliveries.settle(
    trx,
    outcomes.map(({ jobId }) => jobId),
  )
  await jobs.deliveries.add(
    trx,
    current.flatMap(({ deliveryId, endpointId, delayMs }) =>
      delayMs === undefined ? [] : [{ deliveryId, endpointId, delayMs }],
    ),
  )
}

async function updateDeliveries(trx: Db, outcomes: Outcome[]): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    update deliveries set
      status = outcome.status,
      attempt_count = attempt_count + outcome.tried,
      round_attempts = round_attempts + outcome.tried,
      next_attempt_at = now() + outcome.delay_ms * interval '1 millisecond'
    from unnest(
      ${outcomes.map(({ deliveryId }) => deliveryId)}::text[],
      ${outcomes.map(({ attemptsBefore }) => attemptsBefore)}::int[],
      ${outcomes.map(({ attempt }) => (attempt ? 1 : 0))}::int[],
      ${outcomes.map(({ status }) => status)}::text[],
      ${outcomes.map(({ delayMs }) => delayMs ?? null)}::float8[]
    ) as outcome (id, attempts_before, tried, status, delay_ms)
    where deliveries.id = outcome.id
      and deliveries.attempt_count = outcome.attempts_before
      and deliveries.status = 'pending'
    returning deliveries.id`.execute(trx)
  return new Set(rows.map(({ id }) => id))
}

async function insertAttempts(trx: Db, outcomes: Outcome[]): Promise<void> {
  const attempts = outcomes.flatMap(({ deliveryId, attemptsBefore, attempt }) =>
    attempt
      ? [
          {
            delivery_id: deliveryId,
            number: attemptsBefore + 1,
            started_at: attempt.startedAt,
            duration_ms: attempt.durationMs,
            status: attempt.status,
            error: attempt.error,
            response: attempt.response,
          },
        ]
      : [],
  )
  if (attempts.length > 0) await trx.insertInto('delivery_attempts').values(attempts).execute()
}

/** The last word on each endpoint counts. Only what changes is written: a healthy endpoint costs nothing. */
async function updateHealth(trx: Db, outcomes: Outcome[]): Promise<void> {
  const last = new Map(
    outcomes.flatMap(({ endpointId, health }) => (health ? [[endpointId, health] as const] : [])),
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

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
