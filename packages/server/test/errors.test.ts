import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, call, createSession, recording, uploadAll } from './support/client.ts'
import { exchange, head, openRaw } from './support/raw.ts'
import { assertRefused, errorOf } from './support/refusal.ts'
import { seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'

// Which error comes when several would fit, and that every one of them has the one shape.

const NOWHERE = `ses_${'0'.repeat(36)}`
const WRONG_KEY = `svc_live_${'0'.repeat(32)}`
let service: Service
let readKey: string
before(async () => {
  service = await startService()
  readKey = await service.makeKey({ permissions: ['read'] })
})
after(() => service.close())

test('a wrong key comes before a bad body, a bad query and an unknown object', async () => {
  assertRefused(await post('/v1/sessions', WRONG_KEY, { bytes: 'x' }), 401, 'key_invalid')
  assertRefused(await post('/v1/sessions?x=1', WRONG_KEY, {}), 401, 'key_invalid')
  assertRefused(await post(`/v1/sessions/${NOWHERE}/complete`, WRONG_KEY, {}), 401, 'key_invalid')
})

test('a wrong key comes before broken JSON, a wrong content type and a body too large', async () => {
  assertRefused(await sendText('{', 'application/json', WRONG_KEY), 401, 'key_invalid')
  assertRefused(await sendText('{}', 'text/plain', WRONG_KEY), 401, 'key_invalid')
  assertRefused(await sendText('x'.repeat(3 * 2 ** 20), 'application/json', WRONG_KEY), 401, 'key_invalid')
})

test('a missing write permission comes before a bad body', async () => {
  assertRefused(await post('/v1/sessions', readKey, { bytes: 'x' }), 403, 'write_required')
  assertRefused(await sendText('{', 'application/json', readKey), 403, 'write_required')
  assertRefused(await sendText('{}', 'text/plain', readKey), 403, 'write_required')
})

test('a missing write permission comes before an unknown object', async () => {
  assertRefused(await post(`/v1/sessions/${NOWHERE}/complete`, readKey, { parts: [] }), 403, 'write_required')
  assertRefused(
    await call(service.url, 'DELETE', `/v1/sessions/${NOWHERE}`, { key: readKey }),
    403,
    'write_required',
  )
})

test('a bad body comes before an unknown object', async () => {
  const answer = await post(`/v1/sessions/${NOWHERE}/complete`, service.key, { parts: 'all' })
  assertRefused(answer, 400, 'parameter_invalid', 'parts')
})

test('a bad query comes before an unknown object', async () => {
  const answer = await call(service.url, 'GET', `/v1/sessions/${NOWHERE}?expand=parts`, { key: service.key })
  assertRefused(answer, 400, 'parameter_unknown', 'expand')
})

test("a bad body comes before another organisation's object", async () => {
  await service.makeKey({ organisation: 'other' })
  const id = await seedSession(service.database.db, 'other')
  assertRefused(await post(`/v1/sessions/${id}/complete`, service.key, {}), 400, 'parameter_invalid', 'parts')
})

test('a bad body comes before a reused idempotency key', async () => {
  const headers = { 'Idempotency-Key': 'order-1' }
  await call(service.url, 'POST', '/v1/sessions', { key: service.key, headers, body: newSession() })
  const bad = { ...newSession(), bytes: 0 }
  const answer = await call(service.url, 'POST', '/v1/sessions', { key: service.key, headers, body: bad })
  assertRefused(answer, 400, 'parameter_invalid', 'bytes')
})

test('a reused idempotency key comes before an unknown object', async () => {
  const headers = { 'Idempotency-Key': 'order-2' }
  await call(service.url, 'POST', '/v1/sessions', { key: service.key, headers, body: newSession() })
  const answer = await call(service.url, 'POST', `/v1/sessions/${NOWHERE}/complete`, {
    key: service.key,
    headers,
    body: { parts: [{ number: 1, etag: 'a'.repeat(64) }] },
  })
  assertRefused(answer, 400, 'idempotency_key_reused', 'Idempotency-Key')
})

test("another organisation's object comes before its state", async () => {
  await service.makeKey({ organisation: 'stated' })
  const id = await seedSession(service.database.db, 'stated', { status: 'processed' })
  const answer = await post(`/v1/sessions/${id}/complete`, service.key, {
    parts: [{ number: 1, etag: 'a'.repeat(64) }],
  })
  assertRefused(answer, 403, 'organisation_mismatch')
})

test('a completed session comes before what is wrong with the parts named', async () => {
  const id = await seedSession(service.database.db, 'default', { status: 'processed' })
  const answer = await post(`/v1/sessions/${id}/complete`, service.key, {
    parts: [{ number: 9, etag: 'a'.repeat(64) }],
  })
  assertRefused(answer, 409, 'already_completed')
})

const unknownRoutes: [method: string, path: string][] = [
  ['GET', '/v1'],
  ['GET', '/v1/'],
  ['GET', '/v2/sessions'],
  ['GET', '/v1/session'],
  ['GET', '/V1/sessions'],
  ['GET', `/v1/sessions/${NOWHERE}/`],
  ['GET', `/v1/sessions/${NOWHERE}/complete`],
  ['GET', `/v1/sessions/${NOWHERE}/parts`],
  ['POST', `/v1/sessions/${NOWHERE}`],
  ['PUT', '/v1/sessions'],
  ['PATCH', `/v1/sessions/${NOWHERE}`],
  ['DELETE', '/v1/sessions'],
  ['OPTIONS', '/v1/sessions'],
  ['GET', '/nothing'],
  ['GET', '//v1/sessions'],
  ['GET', '/v1/sessions/%zz'],
]
for (const [method, path] of unknownRoutes) {
  test(`there is no ${method} ${path.replace(NOWHERE, '{id}')}`, async () => {
    assertRefused(await call(service.url, method, path, { key: service.key }), 404, 'route_unknown')
  })
}

test('an unknown route is told without a key too', async () => {
  assertRefused(await call(service.url, 'GET', '/v1/nothing'), 404, 'route_unknown')
})

test('HEAD is answered without a body', async () => {
  const response = await fetch(`${service.url}/v1/sessions`, {
    method: 'HEAD',
    headers: { Authorization: `Bearer ${service.key}` },
  })
  assert.equal(response.status, 404)
  assert.equal(await response.text(), '')
  assert.match(response.headers.get('request-id') ?? '', /^req_/)
})

test('param is the empty string where no parameter is at fault', async () => {
  const { session, parts } = await uploadAll(service, recording(1))
  await post(`/v1/sessions/${session.id}/complete`, service.key, { parts })
  for (const answer of [
    await call(service.url, 'GET', '/v1/sessions'),
    await call(service.url, 'GET', '/v1/nothing'),
    await call(service.url, 'GET', `/v1/sessions/${NOWHERE}`, { key: service.key }),
    await post(`/v1/sessions/${session.id}/complete`, service.key, { parts }),
  ]) {
    assert.equal(errorOf(answer).param, '')
  }
})

for (const [what, request] of Object.entries({
  'no HTTP at all': 'hello\r\n\r\n',
  'an unknown version': 'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
  'an unknown method': 'FROB /v1/sessions HTTP/1.1\r\nHost: x\r\n\r\n',
  'a header without a name': 'GET /v1/sessions HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n',
  'a NUL in a header': 'GET /v1/sessions HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n',
  'a head larger than 16 KiB': `GET /v1/sessions HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(17_000)}\r\n\r\n`,
  'two lengths': 'POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
  'a length that is none': 'POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
  'a length and chunks':
    'POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
  'no Host': 'GET /v1/sessions HTTP/1.1\r\n\r\n',
})) {
  test(`${what} is answered as any other error`, async () => {
    assertRefused(await exchange(service.url, request), 400, 'request_malformed')
  })
}

test('a chunk that is garbled ends in an error, not in silence', async () => {
  const raw = await openRaw(service.url)
  const headers = {
    Authorization: `Bearer ${service.key}`,
    'Content-Type': 'application/json',
    'Transfer-Encoding': 'chunked',
  }
  await raw.send(`${head('POST', `${service.url}/v1/sessions`, headers)}zz\r\n{}\r\n0\r\n\r\n`)
  assertRefused(await raw.answer(), 400, 'request_malformed')
  raw.hangUp()
})

test('with Expect: 100-continue a JSON body is asked for once the key has passed', async () => {
  const body = JSON.stringify(newSession())
  const raw = await openRaw(service.url)
  await raw.send(head('POST', `${service.url}/v1/sessions`, expecting(service.key, body)))
  assert.equal((await raw.answer()).status, 100)
  await raw.send(body)
  assert.equal((await raw.answer()).status, 201)
  raw.hangUp()
})

test('with Expect: 100-continue a wrong key is refused before the body is asked for', async () => {
  const raw = await openRaw(service.url)
  await raw.send(head('POST', `${service.url}/v1/sessions`, expecting(WRONG_KEY, '{}')))
  assertRefused(await raw.answer(), 401, 'key_invalid')
  raw.hangUp()
})

test('an error names the object that was asked for, and no other organisation', async () => {
  const { id } = await createSession(service, recording(1))
  const stranger = await service.makeKey({ organisation: 'stranger' })
  const answer = await call(service.url, 'GET', `/v1/sessions/${id}`, { key: stranger })
  assert.ok(errorOf(answer).message?.includes(id))
  assert.ok(!errorOf(answer).message?.includes('default'))
})

function newSession() {
  return { site: 'lab', filename: 'run.mcap', bytes: 1000, sha256: '0'.repeat(64) }
}

function expecting(key: string, body: string): Record<string, string | number> {
  return {
    Authorization: `Bearer ${key}`,
    Expect: '100-continue',
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  }
}

function post(path: string, key: string, body: unknown): Promise<Answer> {
  return call(service.url, 'POST', path, { key, body })
}

async function sendText(text: string, type: string, key: string): Promise<Answer> {
  const response = await fetch(`${service.url}/v1/sessions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': type },
    body: text,
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
