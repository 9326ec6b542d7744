import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { MAX_DESCRIPTION_CHARACTERS, MAX_URL_CHARACTERS, type WebhookEndpoint } from '@tapedeck/contract'
import { call } from '../support/client.ts'
import { endWithFile } from '../support/ending.ts'
import { startReceiver } from '../support/receiver.ts'
import { assertRefused } from '../support/refusal.ts'
import { type Service, startService } from '../support/service.ts'
import { createEndpoint, ping, untilEnded } from '../support/webhooks.ts'

const file = endWithFile()
let service: Service
let endpoint: WebhookEndpoint
let delivery: Awaited<ReturnType<typeof ping>>
before(async () => {
  service = await startService()
  file.after(() => service.close())
  const receiver = await startReceiver(file)
  endpoint = await createEndpoint(service, receiver.url)
  delivery = await untilEnded(service, await ping(service, endpoint.id))
})

const right = { url: 'https://example.com/hook', events: ['session.failed'] }

type Refused = { what: string; body: object; code?: string; param: string }

/** For the fields that creating and updating have in common. */
const wrongFields: Refused[] = [
  { what: 'an empty events', body: { events: [] }, param: 'events' },
  { what: 'events that are no array', body: { events: 'session.failed' }, param: 'events' },
  { what: 'an unknown event', body: { events: ['session.failed', 'session.done'] }, param: 'events[1]' },
  { what: 'ping as a subscription', body: { events: ['ping'] }, param: 'events[0]' },
  { what: 'all events at once as *', body: { events: ['*'] }, param: 'events[0]' },
  { what: 'an event that is no text', body: { events: [7] }, param: 'events[0]' },
  {
    what: 'a repeated event',
    body: { events: ['session.failed', 'export.failed', 'session.failed'] },
    param: 'events[2]',
  },
  { what: 'an empty url', body: { url: '' }, param: 'url' },
  { what: 'a url that is no text', body: { url: 7 }, param: 'url' },
  { what: 'a relative url', body: { url: '/hook' }, param: 'url' },
  { what: 'a url without a scheme', body: { url: 'example.com/hook' }, param: 'url' },
  { what: 'a url without a host', body: { url: 'https://' }, param: 'url' },
  { what: 'a url of another scheme', body: { url: 'ftp://example.com/hook' }, param: 'url' },
  { what: 'a javascript url', body: { url: 'javascript://example.com/%0aalert(1)' }, param: 'url' },
  { what: 'a file', body: { url: 'file:///etc/passwd' }, param: 'url' },
  { what: 'a user in the url', body: { url: 'https://user@example.com/' }, param: 'url' },
  { what: 'a password in the url', body: { url: 'https://:secret@example.com/' }, param: 'url' },
  { what: 'a fragment', body: { url: 'https://example.com/#part' }, param: 'url' },
  { what: 'a port that is none', body: { url: 'https://example.com:65536/' }, param: 'url' },
  { what: 'a NUL in the url', body: { url: 'https://example.com/\u0000' }, param: 'url' },
  {
    what: 'a url that is too long',
    body: { url: `https://example.com/${'x'.repeat(MAX_URL_CHARACTERS)}` },
    param: 'url',
  },
  {
    what: 'a description that is too long',
    body: { description: 'x'.repeat(MAX_DESCRIPTION_CHARACTERS + 1) },
    param: 'description',
  },
  { what: 'a control character in the description', body: { description: 'a\u0007' }, param: 'description' },
  { what: 'an unknown field', body: { secret: 'whsec_x' }, code: 'parameter_unknown', param: 'secret' },
]

for (const { what, body, code = 'parameter_invalid', param } of wrongFields) {
  test(`creating with ${what} is refused on ${param}`, async () => {
    const input = { ...right, ...body }
    const answer = await call(service.url, 'POST', '/v1/webhook_endpoints', { key: service.key, body: input })
    assertRefused(answer, 400, code, param)
  })

  test(`updating with ${what} is refused on ${param} and changes nothing`, async () => {
    const path = `/v1/webhook_endpoints/${endpoint.id}`
    const unchanged = await call(service.url, 'GET', path, { key: service.key })
    assertRefused(await call(service.url, 'PATCH', path, { key: service.key, body }), 400, code, param)
    assert.deepEqual((await call(service.url, 'GET', path, { key: service.key })).body, unchanged.body)
  })
}

const onlyOnCreate: Refused[] = [
  { what: 'no url', body: { events: right.events }, param: 'url' },
  { what: 'no events', body: { url: right.url }, param: 'events' },
  { what: 'a status', body: { ...right, status: 'enabled' }, code: 'parameter_unknown', param: 'status' },
  { what: 'no description but null', body: { ...right, description: null }, param: 'description' },
]

for (const { what, body, code = 'parameter_invalid', param } of onlyOnCreate) {
  test(`creating with ${what} is refused on ${param}`, async () => {
    const answer = await call(service.url, 'POST', '/v1/webhook_endpoints', { key: service.key, body })
    assertRefused(answer, 400, code, param)
  })
}

const onlyOnUpdate: Refused[] = [
  { what: 'an unknown status', body: { status: 'paused' }, param: 'status' },
  { what: 'another id', body: { id: 'we_1' }, code: 'parameter_unknown', param: 'id' },
  { what: 'no url but null', body: { url: null }, param: 'url' },
  { what: 'nothing', body: {}, param: '' },
]

for (const { what, body, code = 'parameter_invalid', param } of onlyOnUpdate) {
  test(`updating with ${what} is refused`, async () => {
    const path = `/v1/webhook_endpoints/${endpoint.id}`
    assertRefused(await call(service.url, 'PATCH', path, { key: service.key, body }), 400, code, param)
  })
}

type Request = { method: string; path: () => string; body?: object }

const onEndpoint: Request[] = [
  { method: 'GET', path: () => `/v1/webhook_endpoints/${endpoint.id}` },
  { method: 'GET', path: () => `/v1/webhook_endpoints/${endpoint.id}/deliveries` },
  { method: 'PATCH', path: () => `/v1/webhook_endpoints/${endpoint.id}`, body: { description: 'mine' } },
  { method: 'POST', path: () => `/v1/webhook_endpoints/${endpoint.id}/rotate_secret` },
  { method: 'POST', path: () => `/v1/webhook_endpoints/${endpoint.id}/test` },
  { method: 'POST', path: () => `/v1/webhook_endpoints/${endpoint.id}/deliveries/${delivery.id}/redeliver` },
  {
    method: 'POST',
    path: () => `/v1/webhook_endpoints/${endpoint.id}/redeliver`,
    body: { since: '2026-01-01T00:00:00Z' },
  },
  { method: 'DELETE', path: () => `/v1/webhook_endpoints/${endpoint.id}` },
]
const onEvent: Request = { method: 'GET', path: () => `/v1/events/${delivery.event}` }

for (const [index, { method, path, body }] of [...onEndpoint, onEvent].entries()) {
  test(`${method} ${shape(path)} of another organisation is refused with 403`, async () => {
    const key = await service.makeKey({ organisation: `stranger-${index}` })
    assertRefused(await call(service.url, method, path(), { key, body }), 403, 'organisation_mismatch')
  })
}

test('a delivery of another organisation is not found behind an endpoint of our own', async () => {
  const stranger = { url: service.url, key: await service.makeKey({ organisation: 'borrower' }) }
  const own = await createEndpoint(stranger, right.url)
  const path = `/v1/webhook_endpoints/${own.id}/deliveries/${delivery.id}/redeliver`
  assertRefused(await call(stranger.url, 'POST', path, { key: stranger.key }), 404, 'delivery_not_found')
})

test('lists show nothing of another organisation', async () => {
  const key = await service.makeKey({ organisation: 'onlooker' })
  for (const path of ['/v1/webhook_endpoints', '/v1/events']) {
    const { body } = await call<{ data: unknown[] }>(service.url, 'GET', path, { key })
    assert.deepEqual(body.data, [])
  }
})

const writes = [{ method: 'POST', path: () => '/v1/webhook_endpoints', body: right }, ...onEndpoint].filter(
  ({ method }) => method !== 'GET',
)

for (const { method, path, body } of writes) {
  test(`${method} ${shape(path)} with a key that may only read is refused with 403`, async () => {
    const key = await service.makeKey({ permissions: ['read'] })
    assertRefused(await call(service.url, method, path(), { key, body }), 403, 'write_required')
  })
}

for (const { method, path } of [...onEndpoint, onEvent].filter((request) => request.method === 'GET')) {
  test(`${method} ${shape(path)} with a key that may only read is answered`, async () => {
    const key = await service.makeKey({ permissions: ['read'] })
    assert.equal((await call(service.url, method, path(), { key })).status, 200)
  })
}

const absent = '0'.repeat(36)
const missing = [
  ...onEndpoint.map(({ method, path, body }) => ({
    method,
    path: () => path().replace(endpoint.id, `we_${absent}`),
    body,
    code: 'webhook_endpoint_not_found',
  })),
  { method: 'GET', path: () => '/v1/webhook_endpoints/%00', code: 'webhook_endpoint_not_found' },
  { method: 'GET', path: () => `/v1/events/evt_${absent}`, code: 'event_not_found' },
  { method: 'GET', path: () => '/v1/events/x', code: 'event_not_found' },
  {
    method: 'POST',
    path: () => `/v1/webhook_endpoints/${endpoint.id}/deliveries/del_${absent}/redeliver`,
    code: 'delivery_not_found',
  },
]

for (const [index, { method, path, code, ...more }] of missing.entries()) {
  test(`${method} of what is not there is ${code} (${index})`, async () => {
    assertRefused(await call(service.url, method, path(), { key: service.key, ...more }), 404, code)
  })
}

const wrongQueries: [string, string, string][] = [
  ['/v1/webhook_endpoints', 'limit=0', 'limit'],
  ['/v1/webhook_endpoints', 'cursor=x', 'cursor'],
  ['/v1/webhook_endpoints', 'status=enabled', 'status'],
  ['/v1/events', 'limit=501', 'limit'],
  ['/v1/events', 'type=session.done', 'type'],
  ['/v1/events', 'cursor=x', 'cursor'],
  ['deliveries', 'status=done', 'status'],
  ['deliveries', 'event_type=session.done', 'event_type'],
  ['deliveries', 'type=ping', 'type'],
  ['deliveries', 'limit=x', 'limit'],
  ['deliveries', 'cursor=x', 'cursor'],
]

for (const [path, query, param] of wrongQueries) {
  test(`${path}?${query} is refused on ${param}`, async () => {
    const full = path === 'deliveries' ? `/v1/webhook_endpoints/${endpoint.id}/deliveries` : path
    const answer = await call(service.url, 'GET', `${full}?${query}`, { key: service.key })
    const known = ['limit', 'cursor', 'event_type'].includes(param) || query.endsWith('done')
    assertRefused(answer, 400, known ? 'parameter_invalid' : 'parameter_unknown', param)
  })
}

for (const since of [
  undefined,
  7,
  'yesterday',
  '2026-03-14',
  '2026-03-14T09:26:53',
  '2026-02-30T00:00:00Z',
]) {
  test(`redelivering what failed since ${since} is refused on since`, async () => {
    const path = `/v1/webhook_endpoints/${endpoint.id}/redeliver`
    const answer = await call(service.url, 'POST', path, { key: service.key, body: { since } })
    assertRefused(answer, 400, 'parameter_invalid', 'since')
  })
}

/** The path as a reader knows it, before there are any ids. */
function shape(path: () => string): string {
  return path
    .toString()
    .replace(/^\(\) => [`']|[`']$/g, '')
    .replaceAll(/\$\{(\w+)[^}]*\}/g, '{$1}')
}
