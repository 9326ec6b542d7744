import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type EventType,
  eventTypes,
  MAX_WEBHOOK_ENDPOINTS,
  type WebhookEndpoint,
  type WebhookEndpointList,
  type WebhookEndpointWithSecret,
} from '@tapedeck/contract'
import { call } from '../support/client.ts'
import { startReceiver } from '../support/receiver.ts'
import { assertRefused } from '../support/refusal.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createEndpoint, deliveriesOf, ping, rotateSecret, updateEndpoint } from '../support/webhooks.ts'

let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' } })
})
after(() => service.close())

const SECRET = /^whsec_[A-Za-z0-9_-]{32}$/
const TARGET = 'https://example.com/hook'

function request<T>(method: string, path: string, body?: unknown, headers = {}) {
  return call<T>(service.url, method, `/v1/webhook_endpoints${path}`, { key: service.key, body, headers })
}

test('creating answers 201 with the record and a secret', async () => {
  const input = { url: TARGET, events: ['session.processed', 'session.failed'], description: 'für die Nacht' }
  const { status, body } = await request<WebhookEndpointWithSecret>('POST', '', input)
  assert.equal(status, 201)
  const { id, secret, created_at, ...rest } = body
  assert.match(id, /^we_[0-9a-v]{36}$/)
  assert.match(secret, SECRET)
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
  assert.deepEqual(rest, { object: 'webhook_endpoint', ...input, status: 'enabled' })
})

for (const event of eventTypes) {
  test(`${event} can be subscribed to`, async () => {
    const { events } = await createEndpoint(service, TARGET, { events: [event] })
    assert.deepEqual(events, [event])
  })
}

test('no two endpoints have the same secret', async () => {
  const created = await Promise.all([1, 2, 3].map(() => createEndpoint(service, TARGET)))
  assert.equal(new Set(created.map(({ secret }) => secret)).size, 3)
})

test('the secret is shown once: no later answer has it', async () => {
  const { id, secret } = await createEndpoint(service, TARGET)
  const answers = [
    await request('GET', `/${id}`),
    await request('GET', '?limit=500'),
    await request('PATCH', `/${id}`, { description: 'x' }),
    await request('GET', `/${id}/deliveries`),
    await request('DELETE', `/${id}`),
  ]
  for (const { status, body } of answers) {
    assert.equal(status, 200)
    assert.doesNotMatch(JSON.stringify(body), /whsec_|"secret"/)
    assert.ok(!JSON.stringify(body).includes(secret))
  }
})

test('a repeated create with the same Idempotency-Key gives the same endpoint with the same secret', async () => {
  const input = { url: `${TARGET}/once`, events: ['session.failed'] }
  const headers = { 'Idempotency-Key': 'make one endpoint' }
  const first = await request<WebhookEndpointWithSecret>('POST', '', input, headers)
  const again = await request<WebhookEndpointWithSecret>('POST', '', input, headers)
  assert.equal(again.status, 201)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.match(again.body.secret, SECRET)
  assert.deepEqual(again.body, first.body)
  const { body } = await request<WebhookEndpointList>('GET', '?limit=500')
  assert.equal(body.data.filter(({ url }) => url === input.url).length, 1)
})

test('retrieving gives what was created, without its secret', async () => {
  const { secret: _, ...created } = await createEndpoint(service, TARGET)
  const { status, body } = await request<WebhookEndpoint>('GET', `/${created.id}`)
  assert.equal(status, 200)
  assert.deepEqual(body, created)
})

test('the list is newest first and pages through all, though some are added meanwhile', async () => {
  const other = { url: service.url, key: await service.makeKey({ organisation: 'pages' }) }
  const created: string[] = []
  for (let index = 0; index < 5; index++) created.unshift((await createEndpoint(other, TARGET)).id)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/v1/webhook_endpoints?limit=2${cursor && `&cursor=${cursor}`}`
    const { body }: { body: WebhookEndpointList } = await call(other.url, 'GET', path, { key: other.key })
    assert.equal(body.object, 'list')
    assert.equal(body.has_more, body.next_cursor !== null)
    seen.push(...body.data.map(({ id }) => id))
    cursor = body.next_cursor
    if (seen.length === 2) await createEndpoint(other, TARGET)
  }
  assert.deepEqual(seen, created)
})

const updates: { what: string; change: Partial<WebhookEndpoint> }[] = [
  { what: 'url', change: { url: 'https://example.org/elsewhere' } },
  { what: 'events', change: { events: ['export.completed', 'export.failed'] } },
  { what: 'description', change: { description: 'new' } },
  { what: 'description, to none', change: { description: null } },
  { what: 'status', change: { status: 'disabled' } },
  { what: 'all of them', change: { url: TARGET, events: ['session.processed'], status: 'disabled' } },
]

for (const { what, change } of updates) {
  test(`updating changes ${what} and nothing else`, async () => {
    const { secret: _, ...created } = await createEndpoint(service, TARGET, { description: 'old' })
    const updated = await updateEndpoint(service, created.id, change)
    assert.deepEqual(updated, { ...created, ...change })
    assert.deepEqual((await request('GET', `/${created.id}`)).body, updated)
  })
}

test('a changed address is where the next delivery goes', async (t) => {
  const [before, after] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await createEndpoint(service, before.url)
  await updateEndpoint(service, id, { url: after.url })
  await ping(service, id)
  await after.arrived(1)
  assert.equal(before.delivered.length, 0)
})

test('a deleted endpoint is gone with its deliveries, and gets nothing any more', async (t) => {
  // The first answer makes sure that something is still to be delivered when the endpoint goes.
  const receiver = await startReceiver(t, {
    answer: (response) => response.writeHead(500, { 'Retry-After': '1' }).end(),
  })
  const { id } = await createEndpoint(service, receiver.url)
  const { event } = await ping(service, id)
  await receiver.arrived(1)
  const { status, body } = await request('DELETE', `/${id}`)
  assert.equal(status, 200)
  assert.deepEqual(body, { id, object: 'webhook_endpoint', deleted: true })
  for (const path of [`/${id}`, `/${id}/deliveries`])
    assertRefused(await request('GET', path), 404, 'webhook_endpoint_not_found')
  await until('its job has ended', async () => {
    const jobs = await service.database.pool.query(
      `select 1 from jobs.job where state < 'completed' and group_id = $1`,
      [id],
    )
    return jobs.rowCount === 0
  })
  assert.equal(receiver.delivered.length, 1)
  const kept = await call(service.url, 'GET', `/v1/events/${event}`, { key: service.key })
  assert.equal(kept.status, 200, 'the event stays')
})

test('rotating gives a new secret and the same endpoint', async () => {
  const created = await createEndpoint(service, TARGET)
  const rotated = await rotateSecret(service, created.id)
  assert.match(rotated.secret, SECRET)
  assert.notEqual(rotated.secret, created.secret)
  assert.deepEqual({ ...rotated, secret: '' }, { ...created, secret: '' })
})

test('rotating again with the same Idempotency-Key gives the same new secret', async () => {
  const { id } = await createEndpoint(service, TARGET)
  const headers = { 'Idempotency-Key': 'rotate once' }
  const first = await request<WebhookEndpointWithSecret>('POST', `/${id}/rotate_secret`, undefined, headers)
  const again = await request<WebhookEndpointWithSecret>('POST', `/${id}/rotate_secret`, undefined, headers)
  assert.equal(again.body.secret, first.body.secret)
})

test('a test sends a ping with the endpoint in it, whatever it is subscribed to', async (t) => {
  const receiver = await startReceiver(t)
  const { secret: _, ...endpoint } = await createEndpoint(service, receiver.url, {
    events: ['export.failed'],
  })
  const planned = await ping(service, endpoint.id)
  assert.equal(planned.object, 'webhook_delivery')
  assert.equal(planned.event_type, 'ping')
  const [delivered] = await receiver.arrived(1)
  const { created_at, ...event } = JSON.parse(delivered?.body ?? '')
  assert.ok(Date.parse(created_at))
  assert.deepEqual(event, { id: planned.event, object: 'event', type: 'ping', data: { object: endpoint } })
})

test('a test of a disabled endpoint is a conflict', async () => {
  const { id } = await createEndpoint(service, TARGET)
  await updateEndpoint(service, id, { status: 'disabled' })
  assertRefused(await request('POST', `/${id}/test`), 409, 'endpoint_disabled')
  assert.deepEqual(await deliveriesOf(service, id), [])
})

test('an organisation has at most 100 endpoints, also when all are created at once', async () => {
  const key = await service.makeKey({ organisation: 'crowded' })
  const body = { url: TARGET, events: ['session.failed'] satisfies EventType[] }
  const answers = await Promise.all(
    Array.from({ length: MAX_WEBHOOK_ENDPOINTS + 3 }, () =>
      call(service.url, 'POST', '/v1/webhook_endpoints', { key, body }),
    ),
  )
  const refused = answers.filter(({ status }) => status !== 201)
  assert.equal(refused.length, 3)
  for (const answer of refused) assertRefused(answer, 400, 'too_many_endpoints', '')
})

test('one endpoint less makes room for another', async () => {
  const key = await service.makeKey({ organisation: 'full' })
  const where = { url: service.url, key }
  const ids: string[] = []
  for (let index = 0; index < MAX_WEBHOOK_ENDPOINTS; index++)
    ids.push((await createEndpoint(where, TARGET)).id)
  await call(service.url, 'DELETE', `/v1/webhook_endpoints/${ids[0]}`, { key })
  await createEndpoint(where, TARGET)
})
