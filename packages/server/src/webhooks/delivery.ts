import {
  DEFAULT_PAGE_SIZE,
  type ListWebhookDeliveries,
  type WebhookDelivery,
  type WebhookDeliveryList,
} from '@tapedeck/contract'
import type { Selectable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { afterCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { ApiError } from '../errors.ts'
import { isId } from '../ids.ts'
import { findEndpoint } from './endpoint.ts'

const columns = [
  'id',
  'endpoint_id',
  'event_id',
  'event_type',
  'status',
  'next_attempt_at',
  'created_at',
] as const

type DeliveryRow = Pick<Selectable<Tables['deliveries']>, (typeof columns)[number]>
type AttemptRow = Selectable<Tables['delivery_attempts']>

/** What was sent to an endpoint, newest first, with every attempt. */
export async function listDeliveries(
  { db, cursorKey }: { db: Db; cursorKey: Buffer },
  caller: Caller,
  endpointId: string,
  { limit = DEFAULT_PAGE_SIZE, cursor, status, event_type: type }: ListWebhookDeliveries,
): Promise<WebhookDeliveryList> {
  await findEndpoint(db, caller, endpointId)
  const identity = ['deliveries', endpointId, status ?? null, type ?? null]
  let query = db.selectFrom('deliveries').select(columns).where('endpoint_id', '=', endpointId)
  if (status !== undefined) query = query.where('status', '=', status)
  if (type !== undefined) query = query.where('event_type', '=', type)
  const rows = await query
    .where(afterCursor(cursorKey, identity, cursor))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const attempts = await attemptsOf(
    db,
    rows.slice(0, limit).map(({ id }) => id),
  )
  return toPage(cursorKey, identity, rows, limit, (row) => toObject(row, attempts.get(row.id) ?? []))
}

export async function findDelivery(
  db: Db,
  caller: Caller,
  endpointId: string,
  id: string,
): Promise<WebhookDelivery> {
  await findEndpoint(db, caller, endpointId)
  const row = isId('del', id)
    ? await db
        .selectFrom('deliveries')
        .select(columns)
        .where('id', '=', id)
        .where('endpoint_id', '=', endpointId)
        .executeTakeFirst()
    : undefined
  if (!row) throw new ApiError('delivery_not_found', `the endpoint has no delivery ${id.slice(0, 64)}`)
  const attempts = await attemptsOf(db, [id])
  return toObject(row, attempts.get(id) ?? [])
}

async function attemptsOf(db: Db, deliveryIds: string[]): Promise<Map<string, AttemptRow[]>> {
  if (deliveryIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('delivery_attempts')
    .select(['delivery_id', 'number', 'started_at', 'duration_ms', 'status', 'error', 'response'])
    .where('delivery_id', 'in', deliveryIds)
    .orderBy('number')
    .execute()
  return Map.groupBy(rows, (row) => row.delivery_id)
}

function toObject(row: DeliveryRow, attempts: AttemptRow[]): WebhookDelivery {
  return {
    id: row.id,
    object: 'webhook_delivery',
    endpoint: row.endpoint_id,
    event: row.event_id,
    event_type: row.event_type,
    status: row.status,
    created_at: row.created_at.toISOString(),
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    attempts: attempts.map(({ number, started_at, duration_ms, status, error, response }) => ({
      number,
      at: started_at.toISOString(),
      duration_ms,
      status,
      error,
      response,
    })),
  }
}
