import type { UpdateWebhookEndpoint, WebhookEndpoint } from '@tapedeck/contract'
import type { Updateable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { refuseRepeated } from './create.ts'
import { endpointColumns, endpointNotFound, findEndpoint, toObject } from './endpoint.ts'
import type { Targets } from './target.ts'

type Deps = { db: Db; targets: Targets }

/** Changes what is given. A new address, and being enabled again, begin without a past. */
export async function updateEndpoint(
  { db, targets }: Deps,
  caller: Caller,
  id: string,
  input: UpdateWebhookEndpoint,
): Promise<WebhookEndpoint> {
  if (input.events) refuseRepeated(input.events)
  if (input.url !== undefined) await targets.check(input.url)
  await findEndpoint(db, caller, id)
  const row = await db
    .updateTable('webhook_endpoints')
    .set(changes(input))
    .where('id', '=', id)
    .returning(endpointColumns)
    .executeTakeFirst()
  if (!row) throw endpointNotFound(id)
  return toObject(row)
}

function changes({
  url,
  events,
  description,
  status,
}: UpdateWebhookEndpoint): Updateable<Tables['webhook_endpoints']> {
  return {
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events }),
    ...(description !== undefined && { description }),
    ...(status !== undefined && { status }),
    ...((url !== undefined || status === 'enabled') && { timeouts: 0, paused_until: null }),
  }
}
