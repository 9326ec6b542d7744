import { IDEMPOTENCY_WINDOW_HOURS } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Removes what no request can ask for any more. Safe to run on every node at once. */
export async function sweep(db: Db): Promise<void> {
  await sql`delete from idempotency_keys where created_at < now() - ${IDEMPOTENCY_WINDOW_HOURS} * interval '1 hour'`.execute(
    db,
  )
  await sql`delete from nodes where seen_at < now() - interval '1 day'`.execute(db)
}

/** Runs a task now and then, never twice at once; a failure is told and the next turn comes all the same. */
export function every(
  ms: number,
  task: () => Promise<unknown>,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  let running = Promise.resolve()
  let busy = false
  const turn = () => {
    if (busy) return
    busy = true
    running = task()
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
      await running
    },
  }
}
