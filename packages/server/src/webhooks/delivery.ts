import {
  DEFAULT_PAGE_SIZE,
  type ListWebhookDeliveries,
  type WebhookDelivery,
  type WebhookDeliveryList,
} from '@tapedeck/contract'
import { type Selectable, sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { afterCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { ApiError } from '../errors.ts'
import { isId } from '../ids.ts'
import type { Keys } from '../secrets.ts'
import { findEndpoint } from './endpoint.ts'

type AttemptRow = Pick<
  Selectable<Tables['delivery_attempts']>,
  'number' | 'duration_ms' | 'status' | 'error' | 'response'
> & { started_at: string }

/** A delivery and its attempts by one statement: never as pending together with the attempt that ended it. */
function selectDeliveries(db: Db, endpointId: string) {
  return db
    .selectFrom('deliveries')
    .select(['id', 'endpoint_id', 'event_id', 'event_type', 'status', 'next_attempt_at', 'created_at'])
    .select(
      sql<AttemptRow[]>`(select coalesce(json_agg(attempt order by attempt.number), '[]') from (
        select number, started_at, duration_ms, status, error, response from delivery_attempts
        where delivery_id = deliveries.id) as attempt)`.as('attempts'),
    )
    .where('endpoint_id', '=', endpointId)
}

type DeliveryRow = Awaited<ReturnType<ReturnType<typeof selectDeliveries>['executeTakeFirstOrThrow']>>

/** What was sent to an endpoint, newest first, with every attempt. */
export async function listDeliveries(
  { db, cursorKeys }: { db: Db; cursorKeys: Keys },
  caller: Caller,
  endpointId: string,
  { limit = DEFAULT_PAGE_SIZE, cursor, status, event_type: type }: ListWebhookDeliveries,
): Promise<WebhookDeliveryList> {
  await findEndpoint(db, caller, endpointId)
  const identity = ['deliveries', endpointId, status ?? null, type ?? null]
  let query = selectDeliveries(db, endpointId)
  if (status !== undefined) query = query.where('status', '=', status)
  if (type !== undefined) query = query.where('event_type', '=', type)
  const rows = await query
    .where(afterCursor(cursorKeys, identity, cursor))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return toPage(cursorKeys, identity, rows, limit, toObject)
}

export async function findDelivery(
  db: Db,
  caller: Caller,
  endpointId: string,
  id: string,
): Promise<WebhookDelivery> {
  await findEndpoint(db, caller, endpointId)
  const row = isId('del', id)
    ? await selectDeliveries(db, endpointId).where('id', '=', id).executeTakeFirst()
    : undefined
  if (!row) throw new ApiError('delivery_not_found', `the endpoint has no delivery ${id.slice(0, 64)}`)
  return toObject(row)
}

function toObject(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    object: 'webhook_delivery',
    endpoint: row.endpoint_id,
    event: row.event_id,
    event_type: row.event_type,
    status: row.status,
    created_at: row.created_at.toISOString(),
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    attempts: row.attempts.map(({ number, started_at, duration_ms, status, error, response }) => ({
      number,
      at: new Date(started_at).toISOString(),
      duration_ms,
      status,
      error,
      response,
    })),
  }
}
