import { SECRET_OVERLAP_HOURS, type WebhookEndpointWithSecret } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { newWebhookSecret } from '../ids.ts'
import { encrypt, type Keys } from '../secrets.ts'
import { endpointColumns, endpointNotFound, findEndpoint, toObject } from './endpoint.ts'

type Deps = { db: Db; webhookKeys: Keys }

/** A new secret; the old one signs too for a day, so that receivers can change over without a gap. */
export async function rotateSecret(
  { db, webhookKeys }: Deps,
  caller: Caller,
  id: string,
  commit: Commit,
): Promise<WebhookEndpointWithSecret> {
  await findEndpoint(db, caller, id)
  const secret = newWebhookSecret()
  return commit.statement(async (connection) => {
    const row = await connection
      .updateTable('webhook_endpoints')
      .set({
        secret: encrypt(webhookKeys, secret, id),
        previous_secret: sql<Buffer>`secret`,
        previous_secret_until: sql<Date>`now() + ${SECRET_OVERLAP_HOURS} * interval '1 hour'`,
      })
      .where('id', '=', id)
      .returning(endpointColumns)
      .executeTakeFirst()
    if (!row) throw endpointNotFound(id)
    return { ...toObject(row), secret }
  })
}
