import { sql, type Transaction } from 'kysely'
import { fromKysely, type JobWithMetadata, type PgBoss } from 'pg-boss'
import { type Db, isUnavailable } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'

// A job in the hands of a worker. A worker that is not seen for a while loses it to another, and may wake up later
// without knowing: so what it did is written in one transaction with the end of its job, or not at all.

export type Claim = {
  /** Aborted when the claim is known to be lost, or the worker has to stop. */
  signal: AbortSignal
  /** Ends the job in the caller's transaction. False: it is another's by now, and nothing of this one counts. */
  settle(trx: Transaction<Tables>): Promise<boolean>
}

export function claimOf<Data extends object>(
  boss: PgBoss,
  job: JobWithMetadata<Data>,
  stopping: AbortSignal,
): Claim {
  return {
    signal: AbortSignal.any([job.signal, stopping]),
    async settle(trx) {
      // Held until the transaction ends: nobody can take it over meanwhile. Each attempt has its own count.
      const { rows } = await sql`select id from jobs.job where name = ${job.name} and id = ${job.id}
        and state = 'active' and retry_count = ${job.retryCount} for update`.execute(trx)
      if (rows.length === 0) return false
      await boss.complete(job.name, job, null, { db: fromKysely(trx) })
      return true
    },
  }
}

const GIVE_BACK_TRIES = 10
const GIVE_BACK_PAUSE_MS = 1_000

/** Puts a job back that met an outage: it is done later, and this time does not count as a try of it. */
export async function giveBack<Data extends object>(
  boss: PgBoss,
  db: Db,
  job: JobWithMetadata<Data>,
  claim: Claim,
  delayS: number,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(async (trx) => {
        if (!(await claim.settle(trx))) return
        // A new job: the claim to the old one, wherever it may still be held, is void.
        await boss.send(job.name, job.data, {
          db: fromKysely(trx),
          retryLimit: job.retryLimit - job.retryCount,
          startAfter: delayS,
        })
      })
    } catch (error) {
      // As long as the claim lasts, the database may come back.
      if (!isUnavailable(error) || tries === GIVE_BACK_TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, GIVE_BACK_PAUSE_MS))
    }
  }
}
