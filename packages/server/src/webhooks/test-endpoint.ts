import { PING, type WebhookDelivery } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { findDelivery } from './delivery.ts'
import { findEndpoint, refuseDisabled, toObject } from './endpoint.ts'
import { writeEvent } from './event.ts'
import { type Announcer, plan } from './plan.ts'

type Deps = { db: Db; announcer: Announcer }

/** Sends a `ping` to the endpoint, whatever it is subscribed to. */
export async function testEndpoint(
  { db, announcer }: Deps,
  caller: Caller,
  id: string,
  commit: Commit,
): Promise<WebhookDelivery> {
  const endpoint = await findEndpoint(db, caller, id)
  refuseDisabled(endpoint)
  return commit.transaction(async (trx) => {
    const object = toObject(endpoint)
    const event = await writeEvent(trx, announcer.clock, {
      organisationId: caller.organisationId,
      type: PING,
      object,
    })
    const [deliveryId = ''] = await plan(announcer, trx, event, [id])
    return findDelivery(trx, caller, id, deliveryId)
  })
}
