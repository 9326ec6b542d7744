import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { newId } from '../src/ids.ts'
import { sweep } from '../src/operate/housekeeping.ts'
import { call } from './support/client.ts'
import { assertRefused } from './support/refusal.ts'
import { organisationId } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'
import { createEndpoint } from './support/webhooks.ts'

// What is kept for some time only: events with their deliveries, answers of idempotency keys, nodes.

const DAYS = 30
let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

type Seed = { ageDays: number; deliveries?: ('pending' | 'succeeded' | 'failed')[] }

/** An event and its deliveries, one for each endpoint, as they were so many days ago; each with an attempt. */
async function seedEvent({ ageDays, deliveries = [] }: Seed): Promise<string> {
  const { db } = service.database
  const at = new Date(Date.now() - ageDays * 86_400_000)
  const organisation = await organisationId(db, 'default')
  const id = newId('evt', at.getTime())
  const owned = { organisation_id: organisation, created_at: at }
  await db
    .insertInto('events')
    .values({ ...owned, id, type: 'ping', body: '{}' })
    .execute()
  for (const status of deliveries) {
    const { id: endpointId } = await createEndpoint(service, 'http://127.0.0.1:1/')
    const deliveryId = newId('del', at.getTime())
    await db
      .insertInto('deliveries')
      .values({
        ...owned,
        id: deliveryId,
        endpoint_id: endpointId,
        event_id: id,
        event_type: 'ping',
        status,
        next_attempt_at: null,
        deadline_at: at,
      })
      .execute()
    await db
      .insertInto('delivery_attempts')
      .values({
        delivery_id: deliveryId,
        number: 1,
        started_at: at,
        duration_ms: 1,
        status: 500,
        error: null,
        response: '',
      })
      .execute()
  }
  return id
}

const sweepNow = () => sweep(service.database.db, { eventRetentionDays: DAYS }, new AbortController().signal)
const eventsLeft = async (ids: string[]) => {
  const rows = await service.database.db.selectFrom('events').select('id').where('id', 'in', ids).execute()
  return ids.filter((id) => rows.some((row) => row.id === id))
}

test('an event that is too old goes with its deliveries and attempts, and is not found any more', async () => {
  const old = await seedEvent({ ageDays: DAYS + 1, deliveries: ['succeeded', 'failed'] })
  const young = await seedEvent({ ageDays: DAYS - 1, deliveries: ['succeeded', 'failed'] })
  await sweepNow()
  assert.deepEqual(await eventsLeft([old, young]), [young])
  const { rows } = await sql<{ event_id: string; attempts: number }>`
    select event_id, count(attempt)::int as attempts from deliveries
    join delivery_attempts attempt on delivery_id = deliveries.id group by event_id`.execute(
    service.database.db,
  )
  assert.deepEqual(rows, [{ event_id: young, attempts: 2 }])
  const { key, url } = service
  assertRefused(await call(url, 'GET', `/v1/events/${old}`, { key }), 404, 'event_not_found')
  assertRefused(await call(url, 'GET', `/v1/events/stream?after=${old}`, { key }), 404, 'event_not_found')
  assert.equal((await call(url, 'GET', `/v1/events/${young}`, { key })).status, 200)
})

test('a delivery that is still to be tried is kept, with its event, however old they are', async () => {
  const asked = await seedEvent({ ageDays: 400, deliveries: ['succeeded', 'pending'] })
  const behind = await seedEvent({ ageDays: 300 })
  await sweepNow()
  assert.deepEqual(await eventsLeft([asked, behind]), [asked])
  const left = await service.database.db
    .selectFrom('deliveries')
    .select('status')
    .where('event_id', '=', asked)
    .execute()
  assert.deepEqual(left, [{ status: 'pending' }])
})

test('more than a batch goes too, and sweeps of several nodes at once do not hinder each other', async () => {
  const { db } = service.database
  await sql`insert into events (id, organisation_id, type, body, created_at)
    select 'evt_' || lpad(n::text, 36, '0'), ${await organisationId(db, 'default')}, 'ping', '{}',
      now() - interval '100 days' from generate_series(1, 1203) n`.execute(db)
  await sql`insert into idempotency_keys (organisation_id, key, request_hash, created_at)
    select 'org_x', n::text, '', now() - interval '25 hours' from generate_series(1, 1203) n`.execute(db)
  await Promise.all([sweepNow(), sweepNow(), sweepNow()])
  const { rows } = await sql<{ events: number; keys: number }>`
    select (select count(*)::int from events where created_at < now() - interval '99 days' and body = '{}'
        and not exists (select 1 from deliveries where event_id = events.id)) as events,
      (select count(*)::int from idempotency_keys) as keys`.execute(db)
  assert.deepEqual(rows, [{ events: 0, keys: 0 }])
})

test('a node that was not seen for a day is forgotten, and no other', async () => {
  const { db } = service.database
  const { id } = await db
    .insertInto('nodes')
    .values({ seen_at: new Date(Date.now() - 2 * 86_400_000) })
    .returning('id')
    .executeTakeFirstOrThrow()
  await sweepNow()
  const nodes = await db.selectFrom('nodes').select('id').execute()
  assert.equal(nodes.length, 1)
  assert.notEqual(nodes[0]?.id, id)
})
