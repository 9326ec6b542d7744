import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { errorTypes } from '@tapedeck/contract'
import fc from 'fast-check'
import { bounded } from './support/bounded.ts'
import { call, complete, createSession, recording, uploadAll } from './support/client.ts'
import * as arbitrary from './support/fuzz-arbitraries.ts'
import { exchange, type RawAnswer, request } from './support/raw-http.ts'
import { type Service, startService } from './support/service.ts'

// Whatever is sent, what comes back is an answer of this API: never a 5xx, always with its request id and
// what is left of the rate limit, errors with their five fields. Every run draws the same requests.

const SEED = 27_182
const RUNS = 1000
const TIME_LIMIT_MS = 8_000

let service: Service
before(async () => {
  // How late the event loop is depends on the machine: it must not make answers 503 here.
  service = await startService({ loadLimits: { loopDelayMs: Number.MAX_SAFE_INTEGER } })
})
after(() => service.close())

test('any method, path, query, headers and body get a proper answer', async () => {
  const requests = fc
    .tuple(arbitrary.method, arbitrary.path, arbitrary.query, arbitrary.headers(service.key), arbitrary.body)
    .map(([method, path, query, headers, body]) => request(method, `${path}${query}`, headers, body))
  await forAll(requests, assertOneAnswer)
})

test('any body of a create and of a complete gets a proper answer', async () => {
  const { id } = await createSession(service, recording(2))
  const path = fc.constantFrom('/v1/sessions', `/v1/sessions/${id}/complete`)
  const headers: arbitrary.Header[] = [
    ['Authorization', `Bearer ${service.key}`],
    ['Content-Type', 'application/json'],
  ]
  const requests = fc
    .tuple(path, arbitrary.body, fc.boolean())
    .map(([target, body, inChunks]) => requestWith('POST', target, headers, body, inChunks))
  await forAll(requests, assertOneAnswer)
})

test('any query of a list gets a proper answer', async () => {
  const headers: arbitrary.Header[] = [['Authorization', `Bearer ${service.key}`]]
  const requests = arbitrary.query.map((query) => request('GET', `/v1/sessions${query}`, headers))
  await forAll(requests, assertOneAnswer)
})

test('any request to the address of a part gets a proper answer', async () => {
  const { upload } = await createSession(service, recording(2))
  const target = upload.parts[1]?.url.slice(service.url.length) ?? assert.fail()
  const address = fc.oneof(
    { weight: 3, arbitrary: fc.constant(target) },
    { weight: 1, arbitrary: damaged(target) },
  )
  const checksum = fc.tuple(
    fc.constantFrom('x-amz-checksum-sha256', 'X-Goog-Checksum-SHA256', 'x--checksum-sha256'),
    fc.oneof(
      arbitrary.headerText,
      fc.base64String(),
      fc.constantFrom('', Buffer.alloc(32).toString('base64'), Buffer.alloc(31).toString('base64')),
    ),
  )
  const bytes = fc.constantFrom(0, 1, 999, 1000, 1001, 100_000)
  const requests = fc
    .tuple(address, checksum, arbitrary.headers(service.key), bytes, fc.boolean())
    .map(([to, sum, headers, length, inChunks]) =>
      requestWith('PUT', to, [...headers, sum], Buffer.alloc(length), inChunks),
    )
  await forAll(requests, assertOneAnswer)
})

test('bytes that are not HTTP get a proper answer or none', async () => {
  const garbage = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary-ascii', maxLength: 300 }).map((text) => Buffer.from(text)),
    damagedRequest(),
  )
  await forAll(garbage, async (bytes) => {
    for (const answer of await exchange(service.url, bytes, { hangUp: true })) assertProper(answer)
  })
})

test('HEAD is answered without a body and with all headers', async () => {
  for (const path of ['/', '/v1/sessions', '/v1/sessions/x', '/docs', '/nowhere', '/upload/a/1']) {
    const [answer] = await exchange(service.url, request('HEAD', path), { head: true })
    assert.ok(answer && answer.status < 500, `HEAD ${path}`)
    assertHeaders(answer)
  }
})

test('after all this the service takes a recording as before', async () => {
  const { session, parts } = await uploadAll(service, recording(2))
  assert.equal((await complete(service, session.id, parts)).status, 200)
  assert.equal((await call(service.url, 'GET', '/readyz')).status, 200)
})

/** As text, so that a failure shows the request. */
async function forAll(
  requests: fc.Arbitrary<Buffer>,
  check: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  const texts = requests.map((bytes) => bytes.toString('latin1'))
  const holds = bounded(TIME_LIMIT_MS, (text: string) => check(Buffer.from(text, 'latin1')))
  await fc.assert(fc.asyncProperty(texts, holds), { seed: SEED, numRuns: RUNS })
}

function requestWith(
  method: string,
  target: string,
  headers: arbitrary.Header[],
  body: Buffer,
  inChunks: boolean,
): Buffer {
  if (!inChunks) return request(method, target, headers, body)
  const chunk = body.length === 0 ? [] : [`${body.length.toString(16)}\r\n`, body, '\r\n']
  const bytes = Buffer.concat([...chunk, '0\r\n\r\n'].map((piece) => Buffer.from(piece)))
  return request(method, target, [...headers, ['Transfer-Encoding', 'chunked']], bytes)
}

/** The text with one character replaced, removed or added. */
function damaged(text: string): fc.Arbitrary<string> {
  const place = fc.nat({ max: text.length - 1 })
  const piece = fc.constantFrom('', '%', '%00', 'A', '9', '&', '=', '/', '&expires=1')
  return fc.tuple(place, piece).map(([at, put]) => `${text.slice(0, at)}${put}${text.slice(at + 1)}`)
}

/** A good request with a few bytes of it replaced, and perhaps cut off. */
function damagedRequest(): fc.Arbitrary<Buffer> {
  const good = requestWith('POST', '/v1/sessions?limit=1', [], Buffer.from('{"site":"lab"}'), true)
  const change = fc.tuple(fc.nat({ max: good.length - 1 }), fc.integer({ min: 0, max: 255 }))
  return fc
    .tuple(fc.array(change, { maxLength: 3 }), fc.nat({ max: good.length }))
    .map(([changes, length]) => {
      const bytes = Buffer.from(good)
      for (const [at, byte] of changes) bytes[at] = byte
      return bytes.subarray(0, length)
    })
}

async function assertOneAnswer(bytes: Buffer): Promise<void> {
  const answers = await exchange(service.url, bytes)
  assert.equal(answers.length, 1, `${answers.length} answers to one request`)
  for (const answer of answers) assertProper(answer)
}

function assertProper(answer: RawAnswer): void {
  assert.ok(answer.status < 500, `${answer.status} ${answer.body}`)
  assertHeaders(answer)
  if (answer.status >= 400) assertError(answer)
}

function assertHeaders({ status, headers }: RawAnswer): void {
  assert.match(headers.get('request-id') ?? `none on ${status}`, /^req_[0-9a-f]{32}$/)
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
    assert.match(headers.get(name) ?? `no ${name} on ${status}`, /^\d+$/)
  }
}

function assertError({ status, headers, body }: RawAnswer): void {
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  const { error } = JSON.parse(body)
  assert.deepEqual(Object.keys(error), ['type', 'code', 'message', 'param', 'request_id'])
  for (const [name, value] of Object.entries(error)) assert.equal(typeof value, 'string', name)
  assert.equal(error.request_id, headers.get('request-id'))
  assert.equal(Reflect.get(errorTypes, error.type), status)
}
