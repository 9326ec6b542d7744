import { IDEMPOTENCY_WINDOW_HOURS } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { deleteInBatches } from './batches.ts'

/** Removes what no request can ask for any more. Safe to run on every node at once. */
export async function sweep(
  db: Db,
  { eventRetentionDays }: { eventRetentionDays: number },
  signal: AbortSignal,
): Promise<void> {
  await deleteInBatches(
    (limit) =>
      sql`delete from idempotency_keys where (organisation_id, key) in (
      select organisation_id, key from idempotency_keys
      where created_at < now() - ${IDEMPOTENCY_WINDOW_HOURS} * interval '1 hour'
      limit ${limit} for update skip locked)`.execute(db),
    signal,
  )
  await sweepEvents(db, eventRetentionDays, signal)
  await sql`delete from nodes where seen_at < now() - interval '1 day'`.execute(db)
}

const EVENTS_AT_ONCE = 200

/**
 * Goes through the events that are too old, oldest first, and takes each away with its deliveries and their attempts. A
 * delivery that is still to be tried, because somebody asked for it again, keeps itself and its event.
 */
async function sweepEvents(db: Db, days: number, signal: AbortSignal): Promise<void> {
  for (let after = { created_at: new Date(0), id: '' }; !signal.aborted; ) {
    const { rows: old } = await sql<{ created_at: Date; id: string }>`
      select created_at, id from events
      where created_at < now() - ${days} * interval '1 day' and (created_at, id) > (${after.created_at}, ${after.id})
      order by created_at, id limit ${EVENTS_AT_ONCE}`.execute(db)
    const last = old.at(-1)
    if (!last) return
    after = last
    const ids = old.map(({ id }) => id)
    await deleteInBatches(
      (limit) =>
        sql`delete from deliveries where id in (
        select id from deliveries where event_id = any(${ids}) and status <> 'pending'
        limit ${limit} for update skip locked)`.execute(db),
      signal,
    )
    await sql`delete from events where id in (
      select id from events where id = any(${ids})
        and not exists (select 1 from deliveries where event_id = events.id)
      for update skip locked)`.execute(db)
  }
}

/** Runs a task now and then, never twice at once; a failure is told and the next turn comes all the same. */
export function every(
  ms: number,
  task: (signal: AbortSignal) => Promise<unknown>,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let running = Promise.resolve()
  let busy = false
  const turn = () => {
    if (busy) return
    busy = true
    running = task(stopping.signal)
      .then(() => {}, onError)
      .finally(() => {
        busy = false
      })
  }
  turn()
  const timer = setInterval(turn, ms)
  return {
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}
