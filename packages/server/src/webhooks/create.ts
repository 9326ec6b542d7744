import {
  type CreateWebhookEndpoint,
  MAX_WEBHOOK_ENDPOINTS,
  type WebhookEndpointWithSecret,
} from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Clock } from '../clock.ts'
import type { Commit } from '../db/commit.ts'
import { ApiError, invalid } from '../errors.ts'
import { newId, newWebhookSecret } from '../ids.ts'
import { encrypt, type Keys } from '../secrets.ts'
import { endpointColumns, toObject } from './endpoint.ts'
import type { Targets } from './target.ts'

type Deps = { clock: Clock; targets: Targets; webhookKeys: Keys }

export async function createEndpoint(
  { clock, targets, webhookKeys }: Deps,
  caller: Caller,
  input: CreateWebhookEndpoint,
  commit: Commit,
): Promise<WebhookEndpointWithSecret> {
  refuseRepeated(input.events)
  await targets.check(input.url)
  const id = newId('we', clock.now())
  const secret = newWebhookSecret()
  commit.describe(input.url)
  return commit.transaction(async (trx) => {
    // Of many created at once the organisation gets no more than its share.
    await sql`select pg_advisory_xact_lock(hashtextextended(${caller.organisationId}, 0))`.execute(trx)
    const { count } = await trx
      .selectFrom('webhook_endpoints')
      .select((select) => select.fn.countAll<number>().as('count'))
      .where('organisation_id', '=', caller.organisationId)
      .executeTakeFirstOrThrow()
    if (count >= MAX_WEBHOOK_ENDPOINTS) {
      throw new ApiError(
        'too_many_endpoints',
        `the organisation has ${count} webhook endpoints, which is the most; delete one that is not used`,
      )
    }
    const row = await trx
      .insertInto('webhook_endpoints')
      .values({
        id,
        organisation_id: caller.organisationId,
        url: input.url,
        events: input.events,
        description: input.description ?? null,
        secret: encrypt(webhookKeys, secret, id),
      })
      .returning(endpointColumns)
      .executeTakeFirstOrThrow()
    return { ...toObject(row), secret }
  })
}

export function refuseRepeated(events: string[]): void {
  const again = events.findIndex((event, index) => events.indexOf(event) !== index)
  if (again !== -1)
    throw invalid(`events[${again}]`, `events[${again}] is ${events[again]} once more; name each event once`)
}
