import {
  DEFAULT_PAGE_SIZE,
  type ListWebhookEndpoints,
  type WebhookEndpoint,
  type WebhookEndpointList,
} from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import { afterCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Keys } from '../secrets.ts'
import { endpointColumns, findEndpoint, toObject } from './endpoint.ts'

export async function listEndpoints(
  { db, cursorKeys }: { db: Db; cursorKeys: Keys },
  caller: Caller,
  { limit = DEFAULT_PAGE_SIZE, cursor }: ListWebhookEndpoints,
): Promise<WebhookEndpointList> {
  const identity = ['webhook_endpoints', caller.organisationId]
  const query = db
    .selectFrom('webhook_endpoints')
    .select(endpointColumns)
    .where('organisation_id', '=', caller.organisationId)
  const rows = await query
    .where(afterCursor(cursorKeys, identity, cursor))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return toPage(cursorKeys, identity, rows, limit, toObject)
}

export async function retrieveEndpoint(
  { db }: { db: Db },
  caller: Caller,
  id: string,
): Promise<WebhookEndpoint> {
  return toObject(await findEndpoint(db, caller, id))
}
