import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../src/db/database.ts'
import { until } from './until.ts'

// Stops the service at a chosen statement by holding what that statement needs, so that a test can act in
// the very middle of a request.

/** Runs `act` while a transaction holds the locks that `lock` takes. */
export async function holding<T>(db: Db, lock: RawBuilder<unknown>, act: () => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await lock.execute(trx)
    return act()
  })
}

/** Waits until a statement with this text waits for a lock. */
export function untilBlocked(db: Db, text: string): Promise<true> {
  return until(`a statement with ${text} waits for a lock`, async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ilike ${`%${text}%`}`.execute(
      db,
    )
    return rows.length > 0
  })
}
