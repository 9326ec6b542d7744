import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { PulledDelivery } from '../jobs/delivery-queue.ts'
import { decrypt, type Keys } from '../secrets.ts'
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

type Row = Omit<Due, 'secrets'> & { id: string; pending: boolean; attempts: number; sealed: Buffer[] }

export type DueLookup = {
  /** Looks up ahead what comes next, so that its turn need not wait for the database. */
  prepare(next: PulledDelivery[]): void
  /** What the job is for; nothing when its attempt was made, or its delivery has ended or gone. */
  find(job: PulledDelivery): Promise<Due | undefined>
}

/** What was looked up ahead counts for this long; an endpoint may be changed any time. */
const FRESH_MS = 500

export function openDue(db: Db, webhookKeys: Keys): DueLookup {
  const lookUp = openLookUp(db, webhookKeys)
  const ahead = new WeakMap<PulledDelivery, { atMs: number; due: Promise<Due | undefined> }>()
  return {
    prepare(next) {
      // Not before half of them are new: one by one they would be as many queries.
      const middle = next[Math.floor(next.length / 2)]
      if (!middle || ahead.has(middle)) return
      for (const job of next) {
        if (ahead.has(job)) continue
        const due = lookUp(job)
        due.catch(() => {}) // heard by whoever asks for it
        ahead.set(job, { atMs: performance.now(), due })
      }
    },
    find(job) {
      const found = ahead.get(job)
      return found && performance.now() - found.atMs < FRESH_MS ? found.due : lookUp(job)
    },
  }
}

/** Many in one query. */
function openLookUp(db: Db, webhookKeys: Keys): DueLookup['find'] {
  return inBatches<PulledDelivery, Due | undefined>(async (jobs) => {
    const { rows } = await sql<Row>`
      select delivery.id, delivery.status = 'pending' as pending, delivery.attempt_count as attempts, delivery.round_attempts as "roundAttempts",
        extract(epoch from delivery.deadline_at - now())::float8 * 1000 as "leftMs",
        endpoint.url, endpoint.status = 'enabled' as enabled, endpoint.timeouts,
        greatest(0, extract(epoch from endpoint.paused_until - now())::float8 * 1000) as "pausedMs",
        case when endpoint.previous_secret_until > now() then array[endpoint.secret, endpoint.previous_secret]
          else array[endpoint.secret] end as sealed,
        event.body
      from deliveries delivery
      join webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
      join events event on event.id = delivery.event_id
      where delivery.id = any(${jobs.map(({ deliveryId }) => deliveryId)})`.execute(db)
    const byId = new Map(rows.map((row) => [row.id, row]))
    const unseal = openUnseal(webhookKeys)
    return ({ deliveryId, endpointId, attemptsBefore }) => {
      const row = byId.get(deliveryId)
      if (!row?.pending || row.attempts !== attemptsBefore) return undefined
      return { ...row, secrets: row.sealed.flatMap((sealed) => unseal(endpointId, sealed)) }
    }
  }).do
}

/** Decrypts each secret once. One that was encrypted with another key, or for another endpoint, is none. */
function openUnseal(webhookKeys: Keys): (endpointId: string, sealed: Buffer) => string[] {
  const known = new Map<string, string[]>()
  return (endpointId, sealed) => {
    const key = `${endpointId} ${sealed.toString('base64')}`
    const secrets = known.get(key) ?? tryDecrypt(webhookKeys, endpointId, sealed)
    known.set(key, secrets)
    return secrets
  }
}

function tryDecrypt(webhookKeys: Keys, endpointId: string, sealed: Buffer): string[] {
  try {
    return [decrypt(webhookKeys, sealed, endpointId)]
  } catch {
    return []
  }
}
