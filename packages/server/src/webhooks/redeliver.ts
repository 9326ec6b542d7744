import {
  MAX_REDELIVERIES,
  type RedeliverFailed,
  type Redelivery,
  type WebhookDelivery,
} from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { parseTime } from '../time.ts'
import { findDelivery } from './delivery.ts'
import { findEndpoint, refuseDisabled } from './endpoint.ts'
import type { Announcer } from './plan.ts'
import { windowMs } from './schedule.ts'

type Deps = { db: Db; announcer: Announcer }

/** Tries one delivery again from the beginning: the same event, the same body. */
export async function redeliver(
  deps: Deps,
  caller: Caller,
  endpointId: string,
  id: string,
  commit: Commit,
): Promise<WebhookDelivery> {
  const endpoint = await findEndpoint(deps.db, caller, endpointId)
  const delivery = await findDelivery(deps.db, caller, endpointId, id)
  refuseDisabled(endpoint)
  if (delivery.status === 'pending') throw stillPending(id)
  return commit.transaction(async (trx) => {
    const restarted = await restart(
      deps,
      trx,
      endpointId,
      sql`select id from deliveries where id = ${id} and status <> 'pending' for update`,
    )
    if (restarted === 0) throw stillPending(id)
    return findDelivery(trx, caller, endpointId, id)
  })
}

/** Tries again what failed since a time, oldest first, up to a limit for one call. */
export async function redeliverFailed(
  deps: Deps,
  caller: Caller,
  endpointId: string,
  input: RedeliverFailed,
  commit: Commit,
): Promise<Redelivery> {
  const since = parseTime('since', input.since)
  refuseDisabled(await findEndpoint(deps.db, caller, endpointId))
  return commit.transaction(async (trx) => {
    const failed = sql`select id from deliveries
      where endpoint_id = ${endpointId} and status = 'failed' and created_at >= ${since}
      order by created_at, id limit ${MAX_REDELIVERIES} for update`
    const count = await restart(deps, trx, endpointId, failed)
    return { object: 'webhook_redelivery', count, has_more: count === MAX_REDELIVERIES }
  })
}

async function restart(
  { announcer: { jobs, retryScale } }: Deps,
  trx: Db,
  endpointId: string,
  which: ReturnType<typeof sql>,
): Promise<number> {
  const { rows } = await sql<{ id: string; attempts: number }>`
    update deliveries set status = 'pending', round_attempts = 0, next_attempt_at = now(),
      deadline_at = now() + ${windowMs(retryScale)} * interval '1 millisecond'
    where id in (${which}) returning id, attempt_count as attempts`.execute(trx)
  await jobs.deliveries.add(
    trx,
    rows.map(({ id, attempts }) => ({ deliveryId: id, endpointId, attemptsBefore: attempts, delayMs: 0 })),
  )
  return rows.length
}

function stillPending(id: string): ApiError {
  return new ApiError(
    'delivery_pending',
    `delivery ${id} is still being tried; wait until it has succeeded or failed`,
  )
}
