import { sql } from 'kysely'
import type { Db } from './database.ts'

// The time of the database, known to this process without asking each time: what nodes sign and date is then right among
// them, whatever the clocks of their machines say. Between two looks the processor's own ticks are counted.

export type DatabaseClock = { now(): number; stop(): Promise<void> }

const LOOK_EVERY_MS = 10_000
/** An answer that took longer says too little about now. */
const MAX_ROUND_TRIP_MS = 1_000

type Look = { databaseMs: number; tickMs: number; roundTripMs: number }

export async function openDatabaseClock(db: Db, onError: (error: unknown) => void): Promise<DatabaseClock> {
  let last = await look(db)
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = look(db).then((found) => {
      if (found.roundTripMs <= MAX_ROUND_TRIP_MS) last = found
    }, onError)
  }, LOOK_EVERY_MS)
  return {
    now: () => Math.round(last.databaseMs + performance.now() - last.tickMs),
    async stop() {
      clearInterval(timer)
      await looking
    },
  }
}

async function look(db: Db): Promise<Look> {
  const askedMs = performance.now()
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(db)
  const roundTripMs = performance.now() - askedMs
  const [row] = rows
  if (!row) throw new Error('the database does not tell the time')
  return { databaseMs: row.ms, tickMs: askedMs + roundTripMs / 2, roundTripMs }
}
