import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { WEBHOOK_WINDOW_HOURS } from '@tapedeck/contract'
import { sql } from 'kysely'
import { call } from '../support/client.ts'
import { type Answer, type Receiver, startReceiver } from '../support/receiver.ts'
import { assertRefused } from '../support/refusal.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  createEndpoint,
  deliveriesOf,
  ping,
  redeliver,
  untilEnded,
  untilTried,
  updateEndpoint,
} from '../support/webhooks.ts'

/** The schedule a hundred times as fast: 50 ms, 300 ms, 1.2 s, 6 s … */
const SCALE = 0.01

let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: String(SCALE) } })
})
after(() => service.close())

const refusing =
  (times: number, headers: () => Record<string, string> = () => ({})): Answer =>
  (response, _, index) =>
    response.writeHead(index < times ? 503 : 200, index < times ? headers() : {}).end()

async function pingTo(t: TestContext, answer: Answer, where: Service = service) {
  const receiver = await startReceiver(t, { answer })
  const endpoint = await createEndpoint(where, receiver.url)
  return { receiver, endpoint, delivery: await ping(where, endpoint.id) }
}

function gapsMs({ delivered }: Receiver): number[] {
  return delivered.slice(1).map(({ atMs }, index) => atMs - (delivered[index]?.atMs ?? 0))
}

test('the time between attempts grows as decided, less at most a tenth', async (t) => {
  const { receiver, delivery } = await pingTo(t, refusing(3))
  assert.equal((await untilEnded(service, delivery)).status, 'succeeded')
  const [first = 0, second = 0, third = 0] = gapsMs(receiver)
  const least = [5_000, 30_000, 120_000].map((ms) => ms * SCALE * 0.9)
  assert.ok(first >= (least[0] ?? 0), `${first} ms`)
  assert.ok(second >= (least[1] ?? 0), `${second} ms`)
  assert.ok(third >= (least[2] ?? 0), `${third} ms`)
})

test('Retry-After is honoured in seconds and as a date', async (t) => {
  const inThreeSeconds = () => ({ 'Retry-After': new Date(Date.now() + 3_000).toUTCString() })
  const both = [
    await pingTo(
      t,
      refusing(1, () => ({ 'Retry-After': '2' })),
    ),
    await pingTo(t, refusing(1, inThreeSeconds)),
  ]
  for (const { delivery } of both) assert.equal((await untilEnded(service, delivery)).status, 'succeeded')
  // A date has whole seconds: between two and three of them are left.
  for (const { receiver } of both) assert.ok((gapsMs(receiver)[0] ?? 0) >= 1_990, `${gapsMs(receiver)} ms`)
})

test('a pending delivery says when it is tried next', async (t) => {
  const { delivery } = await pingTo(
    t,
    refusing(9, () => ({ 'Retry-After': '600' })),
  )
  const { status, next_attempt_at, attempts } = await untilTried(service, delivery)
  assert.equal(status, 'pending')
  const waitMs = Date.parse(next_attempt_at ?? '') - Date.parse(attempts[0]?.at ?? '')
  assert.ok(waitMs >= 600_000 && waitMs < 660_000, `${waitMs} ms`)
})

test('a receiver that asks for longer than the day is tried before its end', async (t) => {
  const real = await startService()
  t.after(() => real.close())
  const { delivery } = await pingTo(
    t,
    refusing(9, () => ({ 'Retry-After': '999999999' })),
    real,
  )
  const { created_at, next_attempt_at } = await untilTried(real, delivery)
  const lastMs = Date.parse(created_at) + WEBHOOK_WINDOW_HOURS * 3_600_000
  const nextMs = Date.parse(next_attempt_at ?? '')
  assert.ok(nextMs > lastMs - 600_000, `${lastMs - nextMs} ms before its end`)
  assert.ok(nextMs <= lastMs, `${nextMs - lastMs} ms after its end`)
})

test('with the real schedule the second attempt is planned about five seconds after the first', async (t) => {
  const real = await startService()
  t.after(() => real.close())
  const { delivery } = await pingTo(t, refusing(9), real)
  const { next_attempt_at, attempts } = await untilTried(real, delivery)
  const waitMs = Date.parse(next_attempt_at ?? '') - Date.parse(attempts[0]?.at ?? '')
  assert.ok(waitMs >= 4_500, `${waitMs} ms`)
})

test('a delivery that never succeeds ends as failed, and is not tried any more', async (t) => {
  // The day is 0.864 s long.
  const hasty = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.00001' } })
  t.after(() => hasty.close())
  const { receiver, delivery } = await pingTo(t, refusing(1_000), hasty)
  const { status, next_attempt_at, attempts } = await untilEnded(hasty, delivery)
  assert.deepEqual({ status, next_attempt_at }, { status: 'failed', next_attempt_at: null })
  assert.equal(attempts.length, receiver.delivered.length)
  assert.ok(attempts.length <= 11)
  for (const { status: answered, error } of attempts) assert.deepEqual([answered, error], [503, 'status'])
})

test('a retry that comes due after the day, because the service was away, is not made', async (t) => {
  const { receiver, delivery, endpoint } = await pingTo(
    t,
    refusing(1, () => ({ 'Retry-After': '1' })),
  )
  await untilTried(service, delivery)
  await service.database.db
    .updateTable('deliveries')
    .set({ deadline_at: sql<Date>`now() - interval '1 second'` })
    .where('id', '=', delivery.id)
    .execute()
  const { status, attempts } = await untilEnded(service, delivery)
  assert.deepEqual([status, attempts.length, receiver.delivered.length], ['failed', 1, 1])
  await updateEndpoint(service, endpoint.id, { status: 'disabled' })
})

test('a retry outlives a restart of the service', async (t) => {
  const own = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: String(SCALE) } })
  t.after(() => own.close())
  const { receiver, delivery } = await pingTo(
    t,
    refusing(1, () => ({ 'Retry-After': '1' })),
    own,
  )
  await untilTried(own, delivery)
  await own.restart()
  assert.equal((await untilEnded(own, delivery)).status, 'succeeded')
  assert.equal(receiver.delivered.length, 2)
})

test('what is pending when its endpoint is disabled fails and says why, and nothing is sent', async (t) => {
  // It fails then, not when it would have been tried next.
  const { receiver, delivery, endpoint } = await pingTo(
    t,
    refusing(1, () => ({ 'Retry-After': '600' })),
  )
  await untilTried(service, delivery)
  await updateEndpoint(service, endpoint.id, { status: 'disabled' })
  const { status, attempts, next_attempt_at } = await untilEnded(service, delivery)
  assert.deepEqual([status, next_attempt_at], ['failed', null])
  assert.deepEqual(
    attempts.map(({ number, error, status: answered }) => [number, error, answered]),
    [
      [1, 'status', 503],
      [2, 'endpoint_disabled', null],
    ],
  )
  assert.equal(receiver.delivered.length, 1)
})

test('what failed while its endpoint was disabled can be redelivered once it is enabled', async (t) => {
  const { receiver, delivery, endpoint } = await pingTo(
    t,
    refusing(1, () => ({ 'Retry-After': '1' })),
  )
  await untilTried(service, delivery)
  await updateEndpoint(service, endpoint.id, { status: 'disabled' })
  await untilEnded(service, delivery)
  const path = `/v1/webhook_endpoints/${endpoint.id}/deliveries/${delivery.id}/redeliver`
  assertRefused(await call(service.url, 'POST', path, { key: service.key }), 409, 'endpoint_disabled')
  await updateEndpoint(service, endpoint.id, { status: 'enabled' })
  await redeliver(service, delivery)
  assert.equal((await untilEnded(service, delivery)).status, 'succeeded')
  assert.equal(receiver.delivered.length, 2)
})

test('deliveries to one endpoint that were put off all come, each once', async (t) => {
  const receiver = await startReceiver(t, { answer: refusing(20) })
  const { id } = await createEndpoint(service, receiver.url)
  const planned: string[] = []
  for (let index = 0; index < 20; index++) planned.push((await ping(service, id)).event)
  await until('all have succeeded', async () =>
    (await deliveriesOf(service, id)).every(({ status }) => status === 'succeeded'),
  )
  const answered = receiver.delivered.slice(20).map(({ body }) => String(JSON.parse(body).id))
  assert.deepEqual(answered.sort(), planned.sort())
})

test('an event that is tried again arrives after later ones, with the same id', async (t) => {
  const receiver = await startReceiver(t, { answer: refusing(1) })
  const { id } = await createEndpoint(service, receiver.url)
  const first = await ping(service, id)
  await untilTried(service, first)
  const second = await ping(service, id)
  await Promise.all([untilEnded(service, first), untilEnded(service, second)])
  const ids = receiver.delivered.map(({ body }) => String(JSON.parse(body).id))
  assert.equal(ids[0], first.event)
  assert.deepEqual(ids.slice(1).sort(), [first.event, second.event].sort())
})

test('what is under way when its endpoint is disabled ends with that attempt', async (t) => {
  const held: (() => void)[] = []
  const receiver = await startReceiver(t, {
    answer: (response) => held.push(() => response.writeHead(500).end()),
  })
  const { id } = await createEndpoint(service, receiver.url)
  const delivery = await ping(service, id)
  await receiver.arrived(1)
  await updateEndpoint(service, id, { status: 'disabled' })
  held[0]?.()
  const { status, attempts, next_attempt_at } = await untilEnded(service, delivery)
  assert.deepEqual([status, next_attempt_at], ['failed', null])
  assert.deepEqual(
    attempts.map(({ error }) => error),
    ['status'],
  )
})

test('the retry that was planned before a redelivery is not made beside it', async (t) => {
  const waits = ['1', '600']
  const { receiver, delivery, endpoint } = await pingTo(
    t,
    refusing(2, () => ({ 'Retry-After': waits.shift() ?? '' })),
  )
  await untilTried(service, delivery)
  await updateEndpoint(service, endpoint.id, { status: 'disabled' })
  await updateEndpoint(service, endpoint.id, { status: 'enabled' })
  await redeliver(service, delivery)
  await untilTried(service, delivery, 3)
  await until('the job of the first retry is gone', async () => (await jobsOf(delivery.id)) === 1)
  assert.equal(receiver.delivered.length, 2)
  await updateEndpoint(service, endpoint.id, { status: 'disabled' })
})

async function jobsOf(deliveryId: string): Promise<number> {
  const { rows } = await sql`select 1 from jobs.job where data ->> 'deliveryId' = ${deliveryId}`.execute(
    service.database.db,
  )
  return rows.length
}

test('what could not be tried within its day, because the service was away, is tried once', async (t) => {
  const held: (() => void)[] = []
  const receiver = await startReceiver(t, {
    answer: (response, _, index) => {
      if (index === 0) held.push(() => response.end())
      else response.writeHead(500).end()
    },
  })
  const { id } = await createEndpoint(service, receiver.url)
  await ping(service, id)
  await receiver.arrived(1)
  // Waits behind the one that is held.
  const late = await ping(service, id)
  await service.database.db
    .updateTable('deliveries')
    .set({ deadline_at: sql<Date>`now() - interval '1 second'` })
    .where('id', '=', late.id)
    .execute()
  held[0]?.()
  const { status, attempts } = await untilEnded(service, late)
  assert.deepEqual([status, attempts.map(({ error }) => error)], ['failed', ['status']])
})

test('a service that stops while a receiver hangs says nothing bad about the receiver', async (t) => {
  const own = await startService()
  t.after(() => own.close())
  const { receiver, delivery, endpoint } = await pingTo(t, () => {}, own)
  await receiver.arrived(1)
  await own.restart()
  const [shown] = await deliveriesOf(own, endpoint.id)
  assert.deepEqual([shown?.id, shown?.status, shown?.attempts], [delivery.id, 'pending', []])
})
