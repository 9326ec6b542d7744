import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Redelivery, WebhookDelivery, WebhookDeliveryList } from '@tapedeck/contract'
import { sql } from 'kysely'
import { call } from '../support/client.ts'
import { startReceiver } from '../support/receiver.ts'
import { assertRefused } from '../support/refusal.ts'
import { type Service, startService } from '../support/service.ts'
import {
  createEndpoint,
  deliveriesOf,
  openAnnouncements,
  ping,
  redeliver,
  untilEnded,
  updateEndpoint,
} from '../support/webhooks.ts'

// The list of deliveries, and sending them again. The day of retries is so short here that what fails has failed soon.

let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.000002' } })
})
after(() => service.close())

/** A receiver that can be told to fail, behind an endpoint. */
async function startTarget(t: TestContext, { failing = false } = {}) {
  const target = { failing }
  const receiver = await startReceiver(t, {
    answer: (response) => response.writeHead(target.failing ? 500 : 200).end(),
  })
  const endpoint = await createEndpoint(service, receiver.url, { events: ['export.failed'] })
  const send = async (): Promise<WebhookDelivery> => untilEnded(service, await ping(service, endpoint.id))
  return { target, receiver, endpoint, send }
}

function redeliverSince(endpointId: string, since: string, headers = {}) {
  return call<Redelivery>(service.url, 'POST', `/v1/webhook_endpoints/${endpointId}/redeliver`, {
    key: service.key,
    body: { since },
    headers,
  })
}

test('a delivery names its endpoint, its event and every attempt', async (t) => {
  const { endpoint, send } = await startTarget(t)
  const { attempts, ...delivery } = await send()
  const [{ at, duration_ms, ...attempt } = assert.fail(), ...more] = attempts
  assert.deepEqual(more, [])
  assert.match(delivery.id, /^del_[0-9a-v]{36}$/)
  assert.match(delivery.event, /^evt_[0-9a-v]{36}$/)
  assert.deepEqual(
    { ...delivery, id: '', event: '', created_at: '' },
    {
      id: '',
      object: 'webhook_delivery',
      endpoint: endpoint.id,
      event: '',
      event_type: 'ping',
      status: 'succeeded',
      created_at: '',
      next_attempt_at: null,
    },
  )
  assert.deepEqual(attempt, { number: 1, status: 200, error: null, response: '' })
  assert.ok(Date.parse(at) >= Date.parse(delivery.created_at) - 1_000)
  assert.ok(duration_ms >= 0)
})

test('deliveries are listed newest first, page by page, though more are sent meanwhile', async (t) => {
  const { endpoint, send } = await startTarget(t)
  const sent: string[] = []
  for (let index = 0; index < 5; index++) sent.unshift((await send()).id)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/v1/webhook_endpoints/${endpoint.id}/deliveries?limit=2${cursor && `&cursor=${cursor}`}`
    const { body }: { body: WebhookDeliveryList } = await call(service.url, 'GET', path, { key: service.key })
    for (const { attempts } of body.data) assert.equal(attempts.length, 1)
    seen.push(...body.data.map(({ id }) => id))
    cursor = body.next_cursor
    if (seen.length === 2) await send()
  }
  assert.deepEqual(seen, sent)
})

test('deliveries can be listed by status and by type of event', async (t) => {
  const { target, endpoint, send } = await startTarget(t)
  const announce = await openAnnouncements(t, service)
  const good = await send()
  target.failing = true
  const bad = await send()
  target.failing = false
  await announce('export.failed', { id: 'exp_1' })
  const exported = (await deliveriesOf(service, endpoint.id, '?event_type=export.failed'))[0] ?? assert.fail()
  await untilEnded(service, exported)
  const listed = async (query: string) =>
    (await deliveriesOf(service, endpoint.id, query)).map(({ id }) => id)
  assert.deepEqual(await listed('?status=failed'), [bad.id])
  assert.deepEqual(await listed('?status=succeeded'), [exported.id, good.id])
  assert.deepEqual(await listed('?status=pending'), [])
  assert.deepEqual(await listed('?event_type=ping'), [bad.id, good.id])
  assert.deepEqual(await listed('?event_type=export.failed'), [exported.id])
  assert.deepEqual(await listed('?event_type=ping&status=succeeded'), [good.id])
  assert.deepEqual(await listed('?event_type=session.processed'), [])
})

test('a cursor of one filter is refused with another, and at another endpoint', async (t) => {
  const { endpoint, send } = await startTarget(t)
  const other = await startTarget(t)
  await send()
  await send()
  const base = `/v1/webhook_endpoints/${endpoint.id}/deliveries`
  const { body } = await call<WebhookDeliveryList>(service.url, 'GET', `${base}?limit=1`, {
    key: service.key,
  })
  const wrong = [
    `${base}?status=succeeded&cursor=${body.next_cursor}`,
    `${base}?event_type=ping&cursor=${body.next_cursor}`,
    `/v1/webhook_endpoints/${other.endpoint.id}/deliveries?cursor=${body.next_cursor}`,
  ]
  for (const path of wrong)
    assertRefused(
      await call(service.url, 'GET', path, { key: service.key }),
      400,
      'parameter_invalid',
      'cursor',
    )
})

test('a delivery is never shown as pending together with the attempt that has ended it', async (t) => {
  const { endpoint, send } = await startTarget(t)
  const { id } = await send()
  const { db } = service.database
  await sql`delete from delivery_attempts where delivery_id = ${id}`.execute(db)
  await sql`update deliveries set status = 'pending' where id = ${id}`.execute(db)
  // The list is asked for, and while it is read the delivery ends.
  const listed = await db.transaction().execute(async (trx) => {
    await sql`lock table delivery_attempts in access exclusive mode`.execute(trx)
    const answer = deliveriesOf(service, endpoint.id)
    await untilWaiting(db, 'delivery_attempts')
    await sql`update deliveries set status = 'succeeded' where id = ${id}`.execute(trx)
    await sql`insert into delivery_attempts (delivery_id, number, started_at, duration_ms, status, response)
      values (${id}, 1, now(), 1, 200, '')`.execute(trx)
    return { answer }
  })
  const [shown = assert.fail()] = await listed.answer
  const { status, attempts } = shown
  assert.equal(status === 'succeeded', attempts.length === 1, `${status} with ${attempts.length} attempts`)
})

test('a redelivery sends the same event again, with the same bytes, and counts its attempts on', async (t) => {
  const { receiver, send } = await startTarget(t)
  const first = await send()
  const restarted = await redeliver(service, first)
  assert.equal(restarted.status, 'pending')
  assert.ok(restarted.next_attempt_at)
  const again = await untilEnded(service, first)
  assert.deepEqual([again.id, again.event, again.status], [first.id, first.event, 'succeeded'])
  assert.deepEqual(
    again.attempts.map(({ number, error }) => [number, error]),
    [
      [1, null],
      [2, null],
    ],
  )
  const [one, two] = receiver.delivered
  assert.equal(two?.body, one?.body)
  assert.equal(JSON.parse(one?.body ?? '').id, first.event)
})

test('a redelivery of what failed has all its retries again', async (t) => {
  const { target, send } = await startTarget(t, { failing: true })
  const failed = await send()
  assert.equal(failed.status, 'failed')
  await redeliver(service, failed)
  const failedAgain = await untilEnded(service, failed)
  assert.equal(failedAgain.status, 'failed')
  assert.ok(failedAgain.attempts.length > failed.attempts.length)
  target.failing = false
  await redeliver(service, failed)
  const { status, attempts } = await untilEnded(service, failed)
  assert.equal(status, 'succeeded')
  assert.deepEqual(
    attempts.map(({ number }) => number),
    attempts.map((_, index) => index + 1),
  )
})

test('redelivering what is still pending is a conflict', async (t) => {
  const answers: (() => void)[] = []
  const receiver = await startReceiver(t, { answer: (response) => answers.push(() => response.end()) })
  const { id } = await createEndpoint(service, receiver.url)
  const delivery = await ping(service, id)
  await receiver.arrived(1)
  const path = `/v1/webhook_endpoints/${id}/deliveries/${delivery.id}/redeliver`
  assertRefused(await call(service.url, 'POST', path, { key: service.key }), 409, 'delivery_pending')
  answers[0]?.()
  await untilEnded(service, delivery)
})

test('of two redeliveries at once one is a conflict', async (t) => {
  const { receiver, send } = await startTarget(t)
  const delivery = await send()
  const path = `/v1/webhook_endpoints/${delivery.endpoint}/deliveries/${delivery.id}/redeliver`
  const { db } = service.database
  // Both have seen that it has ended before either of them starts it again.
  const both = await db.transaction().execute(async (trx) => {
    await sql`select 1 from deliveries where id = ${delivery.id} for update`.execute(trx)
    const answers = [1, 2].map(() => call(service.url, 'POST', path, { key: service.key }))
    await untilWaiting(db, 'update deliveries', 2)
    return { answers }
  })
  const answers = await Promise.all(both.answers)
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
  await untilEnded(service, delivery)
  assert.equal(receiver.delivered.length, 2)
})

test('a repeated redelivery with the same Idempotency-Key sends once', async (t) => {
  const { receiver, send } = await startTarget(t)
  const delivery = await send()
  const path = `/v1/webhook_endpoints/${delivery.endpoint}/deliveries/${delivery.id}/redeliver`
  const options = { key: service.key, headers: { 'Idempotency-Key': delivery.id } }
  const first = await call(service.url, 'POST', path, options)
  await untilEnded(service, delivery)
  const again = await call(service.url, 'POST', path, options)
  assert.deepEqual([again.status, again.body], [200, first.body])
  assert.equal((await deliveriesOf(service, delivery.endpoint))[0]?.status, 'succeeded')
  assert.equal(receiver.delivered.length, 2)
})

test('redelivering all that failed since a time leaves out what succeeded and what is older', async (t) => {
  const { target, receiver, endpoint, send } = await startTarget(t, { failing: true })
  const older = await send()
  const since = await send()
  target.failing = false
  const succeeded = await send()
  target.failing = true
  const newest = await send()
  target.failing = false
  await setCreated(older, '2026-03-14T09:26:53.588Z')
  await setCreated(since, '2026-03-14T09:26:53.589Z')
  const before = receiver.delivered.length
  const { status, body } = await redeliverSince(endpoint.id, '2026-03-14T10:26:53.589+01:00')
  assert.equal(status, 200)
  assert.deepEqual(body, { object: 'webhook_redelivery', count: 2, has_more: false })
  for (const delivery of [since, newest])
    assert.equal((await untilEnded(service, delivery)).status, 'succeeded')
  const again = receiver.delivered.slice(before).map(({ body }) => String(JSON.parse(body).id))
  assert.deepEqual(again.sort(), [since.event, newest.event].sort())
  const all = await deliveriesOf(service, endpoint.id)
  assert.equal(all.find(({ id }) => id === older.id)?.status, 'failed')
  assert.equal(all.find(({ id }) => id === succeeded.id)?.attempts.length, 1)
})

test('redelivering all that failed takes nothing of another endpoint', async (t) => {
  const mine = await startTarget(t, { failing: true })
  const other = await startTarget(t, { failing: true })
  const untouched = await other.send()
  await mine.send()
  const { body } = await redeliverSince(mine.endpoint.id, '2020-01-01T00:00:00Z')
  assert.equal(body.count, 1)
  const [shown] = await deliveriesOf(service, other.endpoint.id)
  assert.deepEqual(shown, untouched)
})

test('redelivering when nothing failed is an answer of none', async (t) => {
  const { endpoint, send } = await startTarget(t)
  await send()
  const { body } = await redeliverSince(endpoint.id, '2020-01-01T00:00:00Z')
  assert.deepEqual(body, { object: 'webhook_redelivery', count: 0, has_more: false })
})

test('redelivering to a disabled endpoint is a conflict', async (t) => {
  const { endpoint, send } = await startTarget(t, { failing: true })
  await send()
  await updateEndpoint(service, endpoint.id, { status: 'disabled' })
  assertRefused(await redeliverSince(endpoint.id, '2020-01-01T00:00:00Z'), 409, 'endpoint_disabled')
})

test('a repeated redelivery of all that failed, with the same Idempotency-Key, sends once', async (t) => {
  const { target, receiver, endpoint, send } = await startTarget(t, { failing: true })
  const failed = await send()
  target.failing = false
  const before = receiver.delivered.length
  const headers = { 'Idempotency-Key': endpoint.id }
  const first = await redeliverSince(endpoint.id, '2020-01-01T00:00:00Z', headers)
  await untilEnded(service, failed)
  const again = await redeliverSince(endpoint.id, '2020-01-01T00:00:00Z', headers)
  assert.deepEqual(again.body, first.body)
  assert.equal(receiver.delivered.length, before + 1)
})

async function setCreated({ id }: WebhookDelivery, time: string): Promise<void> {
  await sql`update deliveries set created_at = ${time} where id = ${id}`.execute(service.database.db)
}

/** Waits until so many statements with this text wait for a lock. */
async function untilWaiting(db: Service['database']['db'], text: string, count = 1): Promise<void> {
  for (let waiting = 0; waiting < count; ) {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ilike ${`%${text}%`}`.execute(
      db,
    )
    waiting = rows.length
  }
}
