import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { PulledDelivery } from '../jobs/delivery-queue.ts'
import { decrypt } from '../secrets.ts'
import { inBatches } from './batches.ts'

/** All that it takes to try a delivery, as it is right before the attempt. Times are by the database's clock. */
export type Due = {
  body: string
  url: string
  enabled: boolean
  /** How long the endpoint is still left alone. */
  pausedMs: number
  /** Times in a row that the endpoint fell silent. */
  timeouts: number
  /** Those that sign now, the newest first; none when they cannot be decrypted. */
  secrets: string[]
  /** Attempts since the delivery was planned or asked for again. */
  roundAttempts: number
  /** Until the delivery's day is over. */
  leftMs: number
}

type Row = Omit<Due, 'secrets'> & { id: string; attempts: number; sealed: Buffer[] }

export type FindDue = (job: PulledDelivery) => Promise<Due | undefined>

/** Finds what a job is for, many in one query; nothing when its attempt was made or its delivery has ended or gone. */
export function openDue(db: Db, webhookKey: Buffer): FindDue {
  return inBatches<PulledDelivery, Due | undefined>(async (jobs) => {
    const { rows } = await sql<Row>`
      select delivery.id, delivery.attempt_count as attempts, delivery.round_attempts as "roundAttempts",
        extract(epoch from delivery.deadline_at - now())::float8 * 1000 as "leftMs",
        endpoint.url, endpoint.status = 'enabled' as enabled, endpoint.timeouts,
        greatest(0, extract(epoch from endpoint.paused_until - now())::float8 * 1000) as "pausedMs",
        case when endpoint.previous_secret_until > now() then array[endpoint.secret, endpoint.previous_secret]
          else array[endpoint.secret] end as sealed,
        event.body
      from deliveries delivery
      join webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
      join events event on event.id = delivery.event_id
      where delivery.id = any(${jobs.map(({ deliveryId }) => deliveryId)}) and delivery.status = 'pending'`.execute(
      db,
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ({ deliveryId, endpointId, attemptsBefore }) => {
      const row = byId.get(deliveryId)
      if (row?.attempts !== attemptsBefore) return undefined
      return { ...row, secrets: unseal(webhookKey, row.sealed, endpointId) }
    }
  }).do
}

/** A secret that was encrypted with another TAPEDECK_SECRET, or for another endpoint, signs nothing. */
function unseal(webhookKey: Buffer, sealed: Buffer[], endpointId: string): string[] {
  return sealed.flatMap((secret) => {
    try {
      return [decrypt(webhookKey, secret, endpointId)]
    } catch {
      return []
    }
  })
}
