import { sql } from 'kysely'
import { fromKysely, type PgBoss, type Queue } from 'pg-boss'
import type { Db } from '../db/database.ts'

// The jobs that deliver events, one for each attempt. Thousands may be due at once, most for receivers that are fine
// and some for receivers that hang, so they are not worked on one by one: whoever delivers pulls as many as it has
// room for, leaving out the endpoints that have enough, and settles many in one transaction with what became of them.

export type DeliveryJob = {
  deliveryId: string
  endpointId: string
  /** The job is for the attempt after these; once there are more, there is nothing left for it to do. */
  attemptsBefore: number
}
export type PlannedDelivery = DeliveryJob & { delayMs: number }
export type PulledDelivery = DeliveryJob & { jobId: string }

export type DeliveryQueue = {
  /** Adds jobs in the caller's transaction. */
  add(trx: Db, planned: PlannedDelivery[]): Promise<void>
  /** Claims jobs that are due. One that is not settled within the claim is due again: its claimer has died. */
  pull(db: Db, limit: number, exceptEndpoints: string[]): Promise<PulledDelivery[]>
  /** Ends jobs in the caller's transaction. */
  settle(trx: Db, jobIds: string[]): Promise<void>
}

export const DELIVERIES = 'deliver-event'
/** Notified when there are deliveries that are due at once. */
export const DELIVERIES_CHANNEL = 'tapedeck_deliveries'
export const CLAIM_S = 25

export async function openDeliveryQueue(boss: PgBoss): Promise<DeliveryQueue> {
  await putQueue(boss, DELIVERIES, {
    expireInSeconds: CLAIM_S,
    // Only a claim that ran out counts as a failure here; the schedule of attempts is the delivery's own.
    retryLimit: 100_000,
    retryDelay: 0,
  })
  return {
    async add(trx, planned) {
      if (planned.length === 0) return
      const jobs = planned.map(({ delayMs, ...data }) => ({
        data,
        group: { id: data.endpointId },
        // Seconds from now by the database's clock.
        startAfter: delayMs / 1000,
      }))
      await boss.insert(DELIVERIES, jobs, { db: fromKysely(trx) })
      if (planned.some(({ delayMs }) => delayMs === 0))
        await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(trx)
    },
    async pull(db, limit, exceptEndpoints) {
      const jobs = await db.transaction().execute(async (trx) => {
        // The planner's idea of how many jobs are due is always old. It would sort all of them for every pull, where the
        // index has them in order. And a claim that is lost with the database is one that nobody has to wait out.
        await sql`select set_config('enable_sort', 'off', true), set_config('synchronous_commit', 'off', true)`.execute(
          trx,
        )
        const options = { batchSize: limit, ignoreGroups: exceptEndpoints, db: fromKysely(trx) }
        return boss.fetch<DeliveryJob>(DELIVERIES, options)
      })
      return jobs.map(({ id, data }) => ({ jobId: id, ...data }))
    },
    async settle(trx, jobIds) {
      // What became of it stands in the delivery's own log.
      if (jobIds.length > 0) await boss.deleteJob(DELIVERIES, jobIds, { db: fromKysely(trx) })
    },
  }
}

/** Makes a queue, or gives it these settings. */
export async function putQueue(boss: PgBoss, name: string, options: Omit<Queue, 'name'>): Promise<void> {
  if (await boss.getQueue(name)) await boss.updateQueue(name, options)
  else await boss.createQueue(name, options)
}
