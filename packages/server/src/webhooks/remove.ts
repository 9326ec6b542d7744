import type { DeletedWebhookEndpoint } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { endpointNotFound, findEndpoint } from './endpoint.ts'

/** Deletes the endpoint with its deliveries; events stay. */
export async function removeEndpoint(
  { db }: { db: Db },
  caller: Caller,
  id: string,
  commit: Commit,
): Promise<DeletedWebhookEndpoint> {
  const { url } = await findEndpoint(db, caller, id)
  commit.describe(url)
  return commit.statement(async (connection) => {
    const { numDeletedRows } = await connection
      .deleteFrom('webhook_endpoints')
      .where('id', '=', id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw endpointNotFound(id)
    return { id, object: 'webhook_endpoint', deleted: true }
  })
}
