import type { AnyEventType, EventType } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { newId } from '../ids.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { writeEvent } from './event.ts'
import { windowMs } from './schedule.ts'

/** What it takes to tell the world, in the transaction of what happened. */
export type Announcer = { clock: Clock; jobs: Jobs; retryScale: number }

/** Writes the event and one delivery for every endpoint that is subscribed to it now. */
export async function announce(
  announcer: Announcer,
  trx: Db,
  event: { organisationId: string; type: EventType; object: object },
): Promise<void> {
  const written = await writeEvent(trx, announcer.clock, event)
  const endpoints = await trx
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('organisation_id', '=', event.organisationId)
    .where('status', '=', 'enabled')
    .where(sql<boolean>`events @> ${[event.type]}::text[]`)
    .execute()
  if (endpoints.length > 0)
    await plan(
      announcer,
      trx,
      written,
      endpoints.map(({ id }) => id),
    )
}

type WrittenEvent = { id: string; organisation_id: string; type: AnyEventType; created_at: Date }

/** One delivery of an event to each of the endpoints, to be tried at once. */
export async function plan(
  { clock, jobs, retryScale }: Announcer,
  trx: Db,
  event: WrittenEvent,
  endpointIds: string[],
): Promise<string[]> {
  const deliveries = endpointIds.map((endpointId) => ({ id: newId('del', clock.now()), endpointId }))
  await trx
    .insertInto('deliveries')
    .values(
      deliveries.map(({ id, endpointId }) => ({
        id,
        organisation_id: event.organisation_id,
        endpoint_id: endpointId,
        event_id: event.id,
        event_type: event.type,
        next_attempt_at: event.created_at,
        deadline_at: sql<Date>`now() + ${windowMs(retryScale)} * interval '1 millisecond'`,
        created_at: event.created_at,
      })),
    )
    .execute()
  await jobs.deliveries.add(
    trx,
    deliveries.map(({ id, endpointId }) => ({ deliveryId: id, endpointId, attemptsBefore: 0, delayMs: 0 })),
  )
  return deliveries.map(({ id }) => id)
}
