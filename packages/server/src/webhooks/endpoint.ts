import type { WebhookEndpoint } from '@tapedeck/contract'
import type { Selectable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { ApiError } from '../errors.ts'
import { isId } from '../ids.ts'

const columns = ['id', 'organisation_id', 'url', 'events', 'description', 'status', 'created_at'] as const
export const endpointColumns = columns.map((column) => `webhook_endpoints.${column}` as const)

export type EndpointRow = Pick<Selectable<Tables['webhook_endpoints']>, (typeof columns)[number]>

export async function findEndpoint(db: Db, caller: Caller, id: string): Promise<EndpointRow> {
  const row = isId('we', id)
    ? await db.selectFrom('webhook_endpoints').select(endpointColumns).where('id', '=', id).executeTakeFirst()
    : undefined
  if (!row) throw endpointNotFound(id)
  if (row.organisation_id !== caller.organisationId) {
    throw new ApiError('organisation_mismatch', `webhook endpoint ${id} belongs to another organisation`)
  }
  return row
}

export function endpointNotFound(id: string): ApiError {
  return new ApiError('webhook_endpoint_not_found', `there is no webhook endpoint ${id.slice(0, 64)}`)
}

export function refuseDisabled({ id, status }: EndpointRow): void {
  if (status === 'disabled') {
    throw new ApiError('endpoint_disabled', `webhook endpoint ${id} is disabled; enable it first`)
  }
}

export function toObject(row: EndpointRow): WebhookEndpoint {
  return {
    id: row.id,
    object: 'webhook_endpoint',
    url: row.url,
    events: row.events,
    description: row.description,
    status: row.status,
    created_at: row.created_at.toISOString(),
  }
}
