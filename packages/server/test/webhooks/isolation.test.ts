import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Redelivery } from '@tapedeck/contract'
import { sql } from 'kysely'
import { undoAfter } from '../embedded/undo.ts'
import { call } from '../support/client.ts'
import type { Ending } from '../support/ending.ts'
import { type Answer, deadUrl, startReceiver } from '../support/receiver.ts'
import { organisationId } from '../support/seed.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  createEndpoint,
  deliveriesOf,
  openAnnouncements,
  ping,
  rotateSecret,
  untilEnded,
  untilTried,
} from '../support/webhooks.ts'

// A receiver that hangs, is slow or is gone delays nobody but itself. The hanging ones of these tests never answer,
// so that a delivery that waits for one of them arrives after the service has given one of them up, ten seconds later.

const MAX_WIDTH = 32

async function start(t: Ending): Promise<Service> {
  const service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' } })
  t.after(() => service.close())
  return service
}

/** The service ends after the receivers, which it would otherwise wait for. */
function lastFirst(t: TestContext): Ending {
  return { after: (end) => undoAfter(t, end) }
}

/** A receiver that hangs on every path but `/healthy`, and counts how often the service lost patience. */
async function startHanging(t: Ending) {
  let givenUp = 0
  const answer: Answer = (response, { path }) => {
    if (path === '/healthy') response.end()
    else response.once('close', () => givenUp++)
  }
  const receiver = await startReceiver(t, { answer })
  return { ...receiver, givenUp: () => givenUp }
}

/** So many deliveries to each of the endpoints, due all at once, endpoint after endpoint. */
async function makeDue(service: Service, endpointIds: string[], count: number): Promise<void> {
  const organisation = await organisationId(service.database.db, 'default')
  await sql`insert into events (id, organisation_id, type, body, created_at)
    select 'evt_' || lpad(n::text, 36, '0'), ${organisation}, 'export.failed', '{}', now()
    from generate_series(1, ${count}::int) n`.execute(service.database.db)
  for (const [index, endpointId] of endpointIds.entries()) {
    await sql`insert into deliveries
        (id, organisation_id, endpoint_id, event_id, event_type, status, deadline_at, created_at)
      select 'del_' || lpad((${index * count}::int + n)::text, 36, '0'), ${organisation}, ${endpointId},
        'evt_' || lpad(n::text, 36, '0'), 'export.failed', 'failed', now(), now()
      from generate_series(1, ${count}::int) n`.execute(service.database.db)
    const { body } = await call<Redelivery>(
      service.url,
      'POST',
      `/v1/webhook_endpoints/${endpointId}/redeliver`,
      { key: service.key, body: { since: '2020-01-01T00:00:00Z' } },
    )
    assert.equal(body.count, count)
  }
}

test('a hanging endpoint with many deliveries due does not delay another', async (context) => {
  const t = lastFirst(context)
  const service = await start(t)
  const hanging = await startHanging(t)
  const { id } = await createEndpoint(service, hanging.at('/hanging'))
  await makeDue(service, [id], 1_000)
  await hanging.arrived(1)
  const healthy = await startReceiver(t)
  const { id: healthyId } = await createEndpoint(service, healthy.url)
  for (let index = 0; index < 5; index++) await untilEnded(service, await ping(service, healthyId))
  assert.equal(healthy.delivered.length, 5)
  assert.equal(hanging.givenUp(), 0)
})

test('ten hanging endpoints with hundreds of deliveries due each do not delay another', async (context) => {
  const t = lastFirst(context)
  const service = await start(t)
  const hanging = await startHanging(t)
  const ids: string[] = []
  for (let index = 0; index < 10; index++)
    ids.push((await createEndpoint(service, hanging.at(`/hanging-${index}`))).id)
  const healthy = await startReceiver(t)
  const { id: healthyId } = await createEndpoint(service, healthy.url)
  await makeDue(service, ids, 200)
  await ping(service, healthyId)
  await healthy.arrived(1)
  assert.equal(hanging.givenUp(), 0)
})

test('ninety hanging endpoints at one host do not delay another endpoint at that host', async (context) => {
  const t = lastFirst(context)
  const service = await start(t)
  const receiver = await startHanging(t)
  const healthy = await createEndpoint(service, receiver.at('/healthy'))
  const ids: string[] = []
  for (let index = 0; index < 90; index++)
    ids.push((await createEndpoint(service, receiver.at(`/hanging-${index}`))).id)
  await makeDue(service, ids, 1)
  await receiver.arrived(90)
  await untilEnded(service, await ping(service, healthy.id))
  assert.equal(receiver.givenUp(), 0)
})

test('dead endpoints do not delay another', async (context) => {
  const t = lastFirst(context)
  const service = await start(t)
  const ids: string[] = []
  for (let index = 0; index < 10; index++) ids.push((await createEndpoint(service, await deadUrl())).id)
  await makeDue(service, ids, 200)
  const healthy = await startReceiver(t)
  const { id } = await createEndpoint(service, healthy.url)
  const { status, attempts } = await untilEnded(service, await ping(service, id))
  assert.deepEqual([status, attempts.length], ['succeeded', 1])
})

test('an endpoint whose secret cannot be read gets nothing until it has a new one, and delays no other', async (context) => {
  const t = lastFirst(context)
  const service = await start(t)
  const receiver = await startReceiver(t)
  const broken = await createEndpoint(service, receiver.at('/broken'), {
    events: ['export.failed'],
  })
  const healthy = await createEndpoint(service, receiver.at('/healthy'), {
    events: ['export.failed'],
  })
  // As after a restore with another TAPEDECK_SECRET, or of a row that another endpoint's was copied over.
  await sql`update webhook_endpoints set secret = (select secret from webhook_endpoints where id = ${healthy.id})
    where id = ${broken.id}`.execute(service.database.db)
  const announce = await openAnnouncements(t, service)
  await announce('export.failed', { id: 'exp_1' })
  const [delivered] = await receiver.arrived(1)
  assert.equal(delivered?.path, '/healthy')
  const [failed = assert.fail()] = await deliveriesOf(service, broken.id)
  const { status, attempts } = await untilTried(service, failed)
  assert.deepEqual([status, attempts[0]?.error, attempts[0]?.status], ['pending', 'secret_unreadable', null])
  assert.equal(receiver.delivered.length, 1)
  await rotateSecret(service, broken.id)
  assert.equal((await untilEnded(service, failed)).status, 'succeeded')
})

test('an endpoint gets at most 32 at once, and as many only when it has answered', async (context) => {
  const t = lastFirst(context)
  const service = await start(t)
  const held: (() => void)[] = []
  const receiver = await startReceiver(t, { answer: (response) => held.push(() => response.end()) })
  const { id } = await createEndpoint(service, receiver.url)
  await makeDue(service, [id], 300)
  await receiver.arrived(1)
  await untilNothingMoves(service, t)
  assert.equal(receiver.inFlight(), 1)
  // Every answer doubles the width of its lane.
  for (const width of [2, 8, MAX_WIDTH]) {
    for (const answer of held.splice(0)) answer()
    await until(`${width} are under way`, async () => receiver.inFlight() === width)
  }
  let arrived = 0
  while (arrived < 300) {
    for (const answer of held.splice(0)) answer()
    arrived = await until('more have arrived', async () => held.length > 0 && receiver.delivered.length)
  }
  assert.equal(receiver.maxInFlight(), MAX_WIDTH)
})

/** Another endpoint has got something meanwhile: had there been more to send, it would have been sent. */
async function untilNothingMoves(service: Service, t: Ending): Promise<void> {
  const healthy = await startReceiver(t)
  const { id } = await createEndpoint(service, healthy.url)
  for (let index = 0; index < 3; index++) await untilEnded(service, await ping(service, id))
}
