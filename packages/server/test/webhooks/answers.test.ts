import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WEBHOOK_RESPONSE_BYTES } from '@tapedeck/contract'
import { type Answer, deadUrl, startRawReceiver, startReceiver } from '../support/receiver.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createEndpoint, ping, untilDelivery, untilEnded } from '../support/webhooks.ts'

// What the service makes of what receivers do. Those that take ten seconds are in patience.test.ts.

let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' } })
})
after(() => service.close())

/** The first attempt of a ping to this address, and what it did to the delivery. */
async function firstAttempt(url: string) {
  const { id } = await createEndpoint(service, url)
  const planned = await ping(service, id)
  const tried = await untilDelivery(service, planned, 'was tried', (delivery) => {
    const [first] = delivery.attempts
    return first !== undefined && (first.error !== null || delivery.status !== 'pending')
  })
  const { error, status, response } = tried.attempts[0] ?? assert.fail()
  return { error, status, response, delivery: tried.status }
}

for (const status of [200, 201, 202, 204, 207, 226, 299]) {
  test(`an answer of ${status} is a success`, async (t) => {
    const { url } = await startReceiver(t, { answer: (response) => response.writeHead(status).end() })
    assert.deepEqual(await firstAttempt(url), {
      error: null,
      status,
      response: '',
      delivery: 'succeeded',
    })
  })
}

for (const status of [400, 401, 404, 410, 429, 500, 503, 599]) {
  test(`an answer of ${status} is a failure that is tried again`, async (t) => {
    const answer: Answer = (response, _, index) => response.writeHead(index === 0 ? status : 200).end('no')
    const receiver = await startReceiver(t, { answer })
    const { id } = await createEndpoint(service, receiver.url)
    const { status: ended, attempts } = await untilEnded(service, await ping(service, id))
    assert.equal(ended, 'succeeded')
    assert.deepEqual(
      attempts.map((attempt) => [attempt.status, attempt.error]),
      [
        [status, 'status'],
        [200, null],
      ],
    )
  })
}

for (const status of [301, 302, 303, 304, 307, 308]) {
  test(`a redirect of ${status} is a failure and is not followed`, async (t) => {
    const elsewhere = await startReceiver(t)
    const { url } = await startReceiver(t, {
      answer: (response) => response.writeHead(status, { Location: elsewhere.url }).end(),
    })
    assert.deepEqual(await firstAttempt(url), {
      error: 'redirect',
      status,
      response: '',
      delivery: 'pending',
    })
    assert.equal(elsewhere.delivered.length, 0)
  })
}

test('the answer is kept with its attempt', async (t) => {
  const { url } = await startReceiver(t, {
    answer: (response) => response.writeHead(422).end('{"why":"schön"}'),
  })
  const { response, error } = await firstAttempt(url)
  assert.deepEqual({ response, error }, { response: '{"why":"schön"}', error: 'status' })
})

test('an answer with bytes that are no text is kept as far as it is text', async (t) => {
  const bytes = Buffer.from([0x61, 0x00, 0xff, 0x62])
  const { url } = await startReceiver(t, { answer: (response) => response.end(bytes) })
  const { response, delivery } = await firstAttempt(url)
  assert.deepEqual({ response, delivery }, { response: 'a\uFFFD\uFFFDb', delivery: 'succeeded' })
})

for (const [what, size] of Object.entries({ 'of exactly': 0, 'of a byte more than': 1 })) {
  test(`an answer ${what} 2 KiB is kept up to 2 KiB`, async (t) => {
    const text = 'x'.repeat(WEBHOOK_RESPONSE_BYTES + size)
    const { url } = await startReceiver(t, { answer: (response) => response.end(text) })
    const { response, error } = await firstAttempt(url)
    assert.deepEqual([response.length, error], [WEBHOOK_RESPONSE_BYTES, null])
  })
}

test('an answer that never ends is read no further than 2 KiB, and the connection is closed', async (t) => {
  const sent = Promise.withResolvers<number>()
  const { url } = await startReceiver(t, { answer: (response) => void stream(response, sent.resolve) })
  const { response, error, status, delivery } = await firstAttempt(url)
  assert.deepEqual(
    [response, error, status, delivery],
    ['x'.repeat(WEBHOOK_RESPONSE_BYTES), null, 200, 'succeeded'],
  )
  // Buffers on the way take some; the 64 MiB would have been sent to whoever reads on.
  assert.ok((await sent.promise) < ENDLESS_BYTES / 2)
})

const ENDLESS_BYTES = 64 * 2 ** 20

/** Sends megabytes as fast as they are taken; tells how many were, when the other side has enough. */
async function stream(response: ServerResponse, onEnd: (bytes: number) => void): Promise<void> {
  const chunk = Buffer.alloc(2 ** 16, 'x')
  const closed = once(response, 'close')
  let bytes = 0
  while (bytes < ENDLESS_BYTES && !response.destroyed) {
    bytes += chunk.length
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed])
  }
  onEnd(bytes)
  response.destroy()
}

test('an answer with a success and a body that breaks off is a success', async (t) => {
  const { url } = await startRawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () => socket.destroy())
  })
  const { error, status, delivery } = await firstAttempt(url)
  assert.deepEqual({ error, status, delivery }, { error: null, status: 200, delivery: 'succeeded' })
})

test('a refused connection is a failure of its kind', async () => {
  const { error, status, delivery } = await firstAttempt(await deadUrl())
  assert.deepEqual({ error, status, delivery }, { error: 'connection', status: null, delivery: 'pending' })
})

test('a reset connection is a failure of its kind', async (t) => {
  const { url } = await startRawReceiver(t, (socket) => socket.resetAndDestroy())
  assert.equal((await firstAttempt(url)).error, 'connection')
})

test('a connection closed without an answer is a failure of its kind', async (t) => {
  const { url } = await startRawReceiver(t, (socket) => socket.end())
  assert.equal((await firstAttempt(url)).error, 'connection')
})

test('a connection closed in the middle of the head is a failure of its kind', async (t) => {
  const { url } = await startRawReceiver(t, (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'))
  assert.equal((await firstAttempt(url)).error, 'connection')
})

const notHttp = {
  'another protocol': '220 mail.example.com ESMTP\r\n',
  'a status that is none': 'HTTP/1.1 9999 What\r\n\r\n',
  'a head without an end that is too large': `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`,
  'two lengths that differ': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
}

for (const [what, bytes] of Object.entries(notHttp)) {
  test(`${what} is no HTTP answer`, async (t) => {
    const { url } = await startRawReceiver(t, (socket) => socket.write(bytes))
    const { error, status } = await firstAttempt(url)
    assert.deepEqual({ error, status }, { error: 'response_invalid', status: null })
  })
}

const certificate = (name: string) => readFileSync(join(import.meta.dirname, '..', 'fixtures', name), 'utf8')
const tls = { key: certificate('self-signed.key'), cert: certificate('self-signed.crt') }

test('a certificate that nobody vouches for is a failure, and nothing is sent', async (t) => {
  const receiver = await startReceiver(t, { tls })
  const { error, status } = await firstAttempt(receiver.url)
  assert.deepEqual({ error, status }, { error: 'tls', status: null })
  assert.equal(receiver.delivered.length, 0)
})

test('https to a receiver that speaks http is a failure, and nothing is sent', async (t) => {
  const receiver = await startReceiver(t)
  const { error } = await firstAttempt(receiver.url.replace('http:', 'https:'))
  assert.equal(error, 'tls')
  assert.equal(receiver.delivered.length, 0)
})

test('a receiver that comes back after refusing connections gets what it missed', async (t) => {
  let away = true
  const { url, requests } = await startRawReceiver(t, (socket) => {
    if (away) socket.resetAndDestroy()
    else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  const { id } = await createEndpoint(service, url)
  const delivery = await ping(service, id)
  await until('it was refused twice', async () => requests() >= 2)
  away = false
  const { status, attempts } = await untilEnded(service, delivery)
  assert.equal(status, 'succeeded')
  assert.ok(attempts.length >= 3)
  assert.deepEqual(
    attempts.map(({ number }) => number),
    attempts.map((_, index) => index + 1),
  )
})
