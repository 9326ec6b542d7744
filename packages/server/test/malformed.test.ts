import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorBody } from '@tapedeck/contract'
import { createSession, recording } from './support/client.ts'
import { exchange, request } from './support/raw-http.ts'
import { type Service, startService } from './support/service.ts'

// Requests that no client library sends, each broken in one way. All are answered by us and not by Node, with
// the error body, the request id and the rate limit that every other error has.

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

const json: [string, string] = ['Content-Type', 'application/json']
const chunked: [string, string] = ['Transfer-Encoding', 'chunked']
const head = 'GET /v1/sessions HTTP/1.1\r\n'

const broken: [claim: string, code: string, bytes: () => Uint8Array | string][] = [
  ['no Host', 'request_malformed', () => `${head}Connection: close\r\n\r\n`],
  ['a space before the colon', 'request_malformed', () => `${head}Host : x\r\n\r\n`],
  ['a folded header', 'request_malformed', () => `${head}Host: x\r\nA: b\r\n c\r\n\r\n`],
  ['a NUL in a header', 'request_malformed', () => `${head}Host: x\r\nA: a\0b\r\n\r\n`],
  ['a NUL in the path', 'request_malformed', () => 'GET /v1/\0 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a raw byte in the path', 'request_malformed', () => request('GET', '/v1/\xff')],
  ['lines that end without CR', 'request_malformed', () => head.replace('\r', '')],
  ['a version that does not exist', 'request_malformed', () => 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
  ['the preface of HTTP/2', 'request_malformed', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['the first bytes of TLS', 'request_malformed', () => Buffer.from('16030100a5010000a10303', 'hex')],
  ['a head over 16 KiB', 'request_malformed', () => request('GET', '/', [['A', 'a'.repeat(17_000)]])],
  ['a target over 16 KiB', 'request_malformed', () => request('GET', `/${'a'.repeat(17_000)}`)],
  ['a method of its own', 'request_malformed', () => request('FETCH', '/v1/sessions')],
  ['a method that Node knows and we do not', 'route_unknown', () => request('QUERY', '/v1/sessions')],
  ['an id of 600 characters', 'route_unknown', () => request('GET', `/v1/sessions/${'a'.repeat(600)}`)],
  ['a percent sign alone', 'route_unknown', () => request('GET', '/v1/sessions/%')],
  ['bytes that are not UTF-8', 'route_unknown', () => request('GET', '/v1/sessions/%ff')],
  ['a negative length', 'request_malformed', () => post([['Content-Length', '-1']])],
  ['a length beyond all numbers', 'request_malformed', () => post([['Content-Length', '9'.repeat(30)]])],
  ['two lengths', 'request_malformed', () => post([...lengths('2'), ...lengths('3')])],
  ['a length and chunks', 'request_malformed', () => post([...lengths('2'), chunked])],
  ['an unknown transfer encoding', 'request_malformed', () => post([['Transfer-Encoding', 'gzip']])],
  ['a chunk size that is no number', 'request_malformed', () => post([chunked], 'zz\r\n{}\r\n0\r\n\r\n')],
  ['a chunk longer than it says', 'request_malformed', () => post([chunked], '2\r\n{}{}\r\n0\r\n\r\n')],
  ['a body declared larger than 2 MiB', 'body_too_large', () => post(lengths('2097153'))],
]

for (const [what, code, bytes] of broken) {
  test(`${what} is refused as ${code}`, async () => {
    const [answer, ...more] = await exchange(service.url, bytes(), { answers: 1 })
    assert.ok(answer, 'there is no answer')
    assert.deepEqual(more, [])
    const { error }: ErrorBody = JSON.parse(answer.body === '' ? '{"error":{}}' : answer.body)
    assert.equal(error.code, code, answer.body)
    assert.equal(error.request_id, answer.headers.get('request-id'))
    assert.match(answer.headers.get('ratelimit-limit') ?? 'no rate limit', /^\d+$/)
  })
}

test('a body cut off in the middle is refused, where anybody hears it', async () => {
  const { upload } = await createSession(service, recording(2))
  const target = upload.parts[1]?.url.slice(service.url.length) ?? assert.fail()
  for (const bytes of [...cutParts(target), post(lengths('1000'), '{"site":')]) {
    for (const { status } of await exchange(service.url, bytes, { hangUp: true })) assert.equal(status, 400)
  }
})

test('a part that was cut off holds no place among the uploads', async () => {
  const { upload } = await createSession(service, recording(2))
  const target = upload.parts[1]?.url.slice(service.url.length) ?? assert.fail()
  for (const bytes of cutParts(target)) await exchange(service.url, bytes, { hangUp: true })
  // Far less than the minute after which a silent client is given up.
  const deadlineMs = Date.now() + 15_000
  while (!/^tapedeck_uploads_in_flight 0$/m.test(await metrics())) {
    assert.ok(Date.now() < deadlineMs, 'uploads are still in flight although no client is there')
    await sleep(20)
  }
})

test('requests in one packet are answered in their order', async () => {
  const together = Buffer.concat([
    get('/v1/sessions'),
    get('/v1/nowhere'),
    get('/v1/sessions?limit=0', 'close'),
  ])
  const answers = await exchange(service.url, together)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 404, 400],
  )
})

test('a good request is answered as such although what follows it is not HTTP', async () => {
  const [first] = await exchange(service.url, Buffer.concat([get('/v1/sessions'), Buffer.from('?\r\n\r\n')]))
  assert.equal(first?.status, 200, first?.body)
})

/** Both ways to say how long a body is, and fewer bytes. */
function cutParts(target: string): Buffer[] {
  const checksum: [string, string] = ['x-amz-checksum-sha256', Buffer.alloc(32).toString('base64')]
  return [
    request('PUT', target, [checksum, ...lengths('1000')], Buffer.alloc(999)),
    request('PUT', target, [checksum, chunked], Buffer.from('3e8\r\nabc')),
  ]
}

async function metrics(): Promise<string> {
  return (await fetch(`${service.url}/metrics`)).text()
}

function get(target: string, connection = 'keep-alive'): Buffer {
  return request('GET', target, [
    ['Authorization', `Bearer ${service.key}`],
    ['Connection', connection],
  ])
}

function post(headers: [string, string][], body = '{}'): Buffer {
  return request(
    'POST',
    '/v1/sessions',
    [['Authorization', `Bearer ${service.key}`], json, ...headers],
    Buffer.from(body),
  )
}

function lengths(value: string): [string, string][] {
  return [['Content-Length', value]]
}
