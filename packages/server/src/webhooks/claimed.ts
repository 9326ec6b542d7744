import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { PulledDelivery } from '../jobs/delivery-queue.ts'
import { decrypt } from '../secrets.ts'

/** A delivery that this process may try now, with all that it takes. Times are left over by the database's clock. */
export type Claimed = PulledDelivery & {
  /** By `performance.now()`. */
  claimedAtMs: number
  attempts: number
  roundAttempts: number
  leftMs: number
  url: string
  enabled: boolean
  pausedMs: number
  timeouts: number
  secrets: string[]
  body: string
}

type Row = {
  id: string
  attempt_count: number
  round_attempts: number
  left_ms: number
  url: string
  enabled: boolean
  paused_ms: number | null
  timeouts: number
  secret: Buffer
  previous_secret: Buffer | null
  body: string
}

/** Those of the pulled that are still to be delivered; for the others there is nothing left to do. */
export async function loadClaimed(
  db: Db,
  webhookKey: Buffer,
  pulled: PulledDelivery[],
): Promise<{ claimed: Claimed[]; void: PulledDelivery[] }> {
  const claimedAtMs = performance.now()
  const { rows } = await sql<Row>`
    select delivery.id, delivery.attempt_count, delivery.round_attempts,
      extract(epoch from delivery.deadline_at - now())::float8 * 1000 as left_ms,
      endpoint.url, endpoint.status = 'enabled' as enabled, endpoint.timeouts, endpoint.secret,
      extract(epoch from endpoint.paused_until - now())::float8 * 1000 as paused_ms,
      case when endpoint.previous_secret_until > now() then endpoint.previous_secret end as previous_secret,
      event.body
    from deliveries delivery
    join webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
    join events event on event.id = delivery.event_id
    where delivery.id = any(${pulled.map(({ deliveryId }) => deliveryId)}) and delivery.status = 'pending'`.execute(
    db,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  const claimed: Claimed[] = []
  const gone: PulledDelivery[] = []
  for (const job of pulled) {
    const row = byId.get(job.deliveryId)
    if (row) claimed.push({ ...toClaimed(webhookKey, job, row), claimedAtMs })
    else gone.push(job)
  }
  return { claimed, void: gone }
}

function toClaimed(webhookKey: Buffer, job: PulledDelivery, row: Row): Omit<Claimed, 'claimedAtMs'> {
  const sealed = row.previous_secret ? [row.secret, row.previous_secret] : [row.secret]
  return {
    ...job,
    attempts: row.attempt_count,
    roundAttempts: row.round_attempts,
    leftMs: row.left_ms,
    url: row.url,
    enabled: row.enabled,
    pausedMs: Math.max(0, row.paused_ms ?? 0),
    timeouts: row.timeouts,
    secrets: sealed.map((secret) => decrypt(webhookKey, secret, job.endpointId)),
    body: row.body,
  }
}
