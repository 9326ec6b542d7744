import {
  DEFAULT_PAGE_SIZE,
  type ListWebhookEndpoints,
  type WebhookEndpoint,
  type WebhookEndpointList,
} from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { readCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import { endpointColumns, findEndpoint, toObject } from './endpoint.ts'

export async function listEndpoints(
  { db, cursorKey }: { db: Db; cursorKey: Buffer },
  caller: Caller,
  { limit = DEFAULT_PAGE_SIZE, cursor }: ListWebhookEndpoints,
): Promise<WebhookEndpointList> {
  const identity = ['webhook_endpoints', caller.organisationId]
  let query = db
    .selectFrom('webhook_endpoints')
    .select(endpointColumns)
    .where('organisation_id', '=', caller.organisationId)
  if (cursor !== undefined) {
    const { createdAt, id } = readCursor(cursorKey, identity, cursor)
    query = query.where(sql<boolean>`(created_at, id) < (${createdAt}, ${id})`)
  }
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return toPage(cursorKey, identity, rows, limit, toObject)
}

export async function retrieveEndpoint(
  { db }: { db: Db },
  caller: Caller,
  id: string,
): Promise<WebhookEndpoint> {
  return toObject(await findEndpoint(db, caller, id))
}
