import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { call, createSession, putPart, recording, urlOf } from './support/client.ts'
import { exchange } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

const LIMIT = 40
let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_RATE_LIMIT: String(LIMIT) } })
})
after(() => service.close())

test('every kind of response tells what is left', async () => {
  const key = await service.makeKey()
  const readKey = await service.makeKey({ permissions: ['read'] })
  const bytes = recording(1)
  const session = await createSession({ url: service.url, key }, bytes)
  const path = `/v1/sessions/${session.id}`
  const get = (where: string, init: RequestInit = {}) =>
    fetch(`${service.url}${where}`, { redirect: 'manual', ...init })
  const bearer = { Authorization: `Bearer ${key}` }
  const responses: Record<string, { status: number; headers: Headers }> = {
    '200 list': await get('/v1/sessions', { headers: bearer }),
    '200 retrieve': await get(path, { headers: bearer }),
    '201 create': await call(service.url, 'POST', '/v1/sessions', {
      key,
      body: { site: 'a', filename: 'b', bytes: 1, sha256: '0'.repeat(64) },
    }),
    '400 body': await call(service.url, 'POST', '/v1/sessions', { key, body: {} }),
    '400 query': await get('/v1/sessions?x=1', { headers: bearer }),
    '401 no key': await get('/v1/sessions'),
    '401 wrong key': await get('/v1/sessions', { headers: { Authorization: 'Bearer x' } }),
    '403 write': await call(service.url, 'DELETE', path, { key: readKey }),
    '404 object': await get(`/v1/sessions/ses_${'0'.repeat(36)}`, { headers: bearer }),
    '404 route': await get('/v1/nothing', { headers: bearer }),
    '404 path that cannot be decoded': await get('/v1/sessions/%zz'),
    '404 HEAD': await get('/v1/sessions', { method: 'HEAD', headers: bearer }),
    '409 state': await call(service.url, 'POST', `${path}/complete`, {
      key,
      body: { parts: [{ number: 1, etag: 'a'.repeat(64) }] },
    }),
    '200 part': await putPart(urlOf(session), bytes),
    '403 part': await putPart(`${urlOf(session)}x`, bytes),
    '400 part': await putPart(urlOf(session), bytes.slice(1)),
    '204 part preflight': await fetch(urlOf(session), {
      method: 'OPTIONS',
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'PUT' },
    }),
    '200 health': await get('/healthz'),
    '200 readiness': await get('/readyz'),
    '200 metrics': await get('/metrics'),
    '200 OpenAPI': await get('/v1/openapi.json'),
    '200 docs': await get('/docs/'),
    '302 root': await get('/'),
    '200 console': await get('/console'),
    '200 delete': await call(service.url, 'DELETE', path, { key }),
    '400 no HTTP': await exchange(service.url, 'hello\r\n\r\n'),
    '400 no Host': await exchange(service.url, 'GET /healthz HTTP/1.1\r\n\r\n'),
    '400 head too large': await exchange(
      service.url,
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
    ),
  }
  const bad = Object.entries(responses).filter(
    ([name, { status, headers }]) =>
      Number(name.slice(0, 3)) !== status ||
      !tellsWhatIsLeft(headers) ||
      !headers.get('request-id')?.startsWith('req_'),
  )
  assert.deepEqual(
    bad.map(([name, { status, headers }]) => [name, status, Object.fromEntries(headers)]),
    [],
  )
})

test('each request of a key takes one from what is left', async () => {
  const key = await service.makeKey()
  const left: number[] = []
  for (let index = 0; index < 3; index++) {
    const { headers } = await call(service.url, 'GET', '/v1/sessions', { key })
    left.push(Number(headers.get('ratelimit-remaining')))
  }
  assert.deepEqual(left, [LIMIT - 1, LIMIT - 2, LIMIT - 3])
})

test('refused requests of a key count too', async () => {
  const key = await service.makeKey({ permissions: ['read'] })
  await call(service.url, 'GET', '/v1/sessions?limit=0', { key })
  await call(service.url, 'POST', '/v1/sessions', { key, body: {} })
  const { headers } = await call(service.url, 'GET', '/v1/sessions', { key })
  assert.equal(headers.get('ratelimit-remaining'), String(LIMIT - 3))
})

test('a key over its limit is 429 and told when to come back', async () => {
  const key = await service.makeKey()
  await exhaust(key)
  const answer = await call(service.url, 'GET', '/v1/sessions', { key })
  assertRefused(answer, 429, 'rate_limit_exceeded')
  const wait = Number(answer.headers.get('retry-after'))
  assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `Retry-After: ${wait}`)
  assert.equal(answer.headers.get('ratelimit-remaining'), '0')
  assert.equal(answer.headers.get('ratelimit-reset'), String(wait))
})

test('the limit of one key is no other key’s, of the same organisation neither', async () => {
  const [busy, idle] = [await service.makeKey(), await service.makeKey()]
  await exhaust(busy)
  assert.equal((await call(service.url, 'GET', '/v1/sessions', { key: busy })).status, 429)
  assert.equal((await call(service.url, 'GET', '/v1/sessions', { key: idle })).status, 200)
})

test('the limit comes before permission and body', async () => {
  const key = await service.makeKey({ permissions: ['read'] })
  await exhaust(key)
  assertRefused(
    await call(service.url, 'POST', '/v1/sessions', { key, body: {} }),
    429,
    'rate_limit_exceeded',
  )
})

test('a request over the limit does nothing', async () => {
  const key = await service.makeKey({ organisation: 'limited' })
  await exhaust(key)
  const body = { site: 'a', filename: 'b', bytes: 1, sha256: '0'.repeat(64) }
  assert.equal((await call(service.url, 'POST', '/v1/sessions', { key, body })).status, 429)
  const { body: found } = await call<{ data: unknown[] }>(service.url, 'GET', '/v1/sessions', {
    key: await service.makeKey({ organisation: 'limited' }),
  })
  assert.deepEqual(found.data, [])
})

test('part uploads do not spend the budget of the key, nor wait for it', async () => {
  const key = await service.makeKey()
  const bytes = recording(1)
  const session = await createSession({ url: service.url, key }, bytes)
  for (let index = 0; index < LIMIT + 5; index++) {
    assert.equal((await putPart(urlOf(session), bytes)).status, 200)
  }
  const { headers } = await call(service.url, 'GET', '/v1/sessions', { key })
  assert.equal(headers.get('ratelimit-remaining'), String(LIMIT - 2))
  await exhaust(key)
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
})

test('health checks spend nothing', async () => {
  const left = async () => (await fetch(`${service.url}/healthz`)).headers.get('ratelimit-remaining')
  const before = await left()
  for (const path of ['/healthz', '/readyz', '/metrics']) await fetch(`${service.url}${path}`)
  assert.equal(await left(), before)
})

// The last: it uses up what this address may do without a key.
test('without a valid key the client address is limited, and valid keys are not touched by it', async () => {
  const statuses = new Set<number>()
  for (let index = 0; index <= LIMIT; index++) {
    const { status } = await call(service.url, 'GET', '/v1/sessions', { key: `svc_live_${'0'.repeat(32)}` })
    statuses.add(status)
  }
  assert.deepEqual(statuses, new Set([401, 429]))
  assertRefused(await call(service.url, 'GET', '/v1/sessions'), 429, 'rate_limit_exceeded')
  assertRefused(await call(service.url, 'GET', '/v1/nothing'), 429, 'rate_limit_exceeded')
  const key = await service.makeKey()
  assert.equal((await call(service.url, 'GET', '/v1/sessions', { key })).status, 200)
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
  const bytes = recording(1)
  const session = await createSession({ url: service.url, key }, bytes)
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
  assertRefused(await putPart(`${urlOf(session)}x`, bytes), 429, 'rate_limit_exceeded')
})

function tellsWhatIsLeft(headers: Headers): boolean {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    headers.get(`ratelimit-${name}`),
  )
  return (
    limit === String(LIMIT) &&
    /^\d+$/.test(remaining ?? '') &&
    Number(remaining) <= LIMIT &&
    /^\d+$/.test(reset ?? '') &&
    Number(reset) <= 60
  )
}

async function exhaust(key: string): Promise<void> {
  for (;;) {
    const { headers } = await call(service.url, 'GET', '/v1/sessions?limit=1', { key })
    if (headers.get('ratelimit-remaining') === '0') return
  }
}
