import type { AttemptError, UpdateWebhookEndpoint, WebhookEndpoint } from '@tapedeck/contract'
import { sql, type Updateable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
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
  commit: Commit,
): Promise<WebhookEndpoint> {
  if (input.events) refuseRepeated(input.events)
  if (input.url !== undefined) await targets.check(input.url)
  const { url } = await findEndpoint(db, caller, id)
  commit.describe(`${url}: ${Object.keys(input).join(', ')}`)
  return commit.transaction(async (trx) => {
    // Deliveries before endpoints: so does whoever writes outcomes.
    if (input.status === 'disabled') await failWaiting(trx, id)
    const row = await trx
      .updateTable('webhook_endpoints')
      .set(changes(input))
      .where('id', '=', id)
      .returning(endpointColumns)
      .executeTakeFirst()
    if (!row) throw endpointNotFound(id)
    return toObject(row)
  })
}

/** Ends what waits for its next attempt. What is due now may be under way: it ends with that attempt. */
async function failWaiting(trx: Db, endpointId: string): Promise<void> {
  const error: AttemptError = 'endpoint_disabled'
  await sql`
    with failed as (
      update deliveries set status = 'failed', next_attempt_at = null, attempt_count = attempt_count + 1
      where endpoint_id = ${endpointId} and status = 'pending' and next_attempt_at > now()
      returning id, attempt_count
    )
    insert into delivery_attempts (delivery_id, number, started_at, duration_ms, error, response)
    select id, attempt_count, now(), 0, ${error}, '' from failed`.execute(trx)
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
