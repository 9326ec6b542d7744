import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { endWithFile } from '../../server/test/support/ending.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import {
  AuthenticationError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitedError,
  Tapedeck,
  TapedeckError,
} from '../src/index.ts'
import { httpAnswer, startFaultProxy } from './support/fault-proxy.ts'

// The client against the real service, through a proxy that spoils what the test says.

const file = endWithFile()
let service: Service
let proxy: Awaited<ReturnType<typeof startFaultProxy>>
let tapedeck: Tapedeck

before(async () => {
  proxy = await startFaultProxy(file)
  service = await startService({ env: { TAPEDECK_WEBHOOK_TARGETS: 'local' } })
  file.after(() => service.close())
  proxy.target = service.url
  tapedeck = client()
})

const session = (number: number) => ({
  site: 'lab',
  filename: `run-${number}.mcap`,
  bytes: 1000 + number,
  sha256: '0'.repeat(64),
})

describe('resources', () => {
  test('a list is one page when awaited, and every item of every page when gone over', async () => {
    for (let number = 1; number <= 5; number++) await tapedeck.sessions.create(session(number))
    const page = await tapedeck.sessions.list({ limit: 2 })
    assert.deepEqual([page.data.map(({ bytes }) => bytes), page.has_more], [[1005, 1004], true])
    const all: number[] = []
    for await (const { bytes } of tapedeck.sessions.list({ limit: 2 })) all.push(bytes)
    assert.deepEqual(all, [1005, 1004, 1003, 1002, 1001])
    assert.equal((await tapedeck.sessions.list({ limit: 2 }).toArray({ limit: 3 })).length, 3)
  })

  test('filters with two ends are one parameter, and dates are dates', async () => {
    const created = { gte: new Date(Date.now() - 3600_000), lt: new Date(Date.now() + 3600_000) }
    assert.equal((await tapedeck.sessions.list({ created })).data.length, 5)
    const later = { gte: new Date(Date.now() + 3600_000) }
    assert.equal((await tapedeck.sessions.list({ created: later })).data.length, 0)
  })

  test('sessions, sites, devices and segments are asked for by the names of the API', async () => {
    const { id } = await tapedeck.sessions.create({ ...session(6), device: 'amr-07' })
    assert.equal((await tapedeck.sessions.retrieve(id)).device, 'amr-07')
    assert.deepEqual((await tapedeck.sessions.channels(id)).data, [])
    assert.deepEqual(
      (await tapedeck.sites.list()).data.map(({ name }) => name),
      ['lab'],
    )
    assert.deepEqual(await tapedeck.segments.search({ duration: { gte: 1.5 } }).toArray({ limit: 10 }), [])
    const { version } = await tapedeck.devices.putCalibration('amr-07', { channels: [{ source: '/imu' }] })
    assert.equal((await tapedeck.devices.retrieveCalibration('amr-07')).version, version)
    assert.deepEqual(
      (await tapedeck.devices.list()).data.map(({ name }) => name),
      ['amr-07'],
    )
    assert.deepEqual(await tapedeck.sessions.delete(id), { id, object: 'session', deleted: true })
  })

  test('webhook endpoints live, are tested and die', async () => {
    const { webhookEndpoints } = tapedeck
    const url = 'http://127.0.0.1:9/hook'
    const { id, secret } = await webhookEndpoints.create({ url, events: ['session.failed'] })
    assert.match(secret, /^whsec_/)
    assert.equal((await webhookEndpoints.update(id, { description: 'mine' })).description, 'mine')
    assert.notEqual((await webhookEndpoints.rotateSecret(id)).secret, secret)
    const delivery = await webhookEndpoints.test(id)
    assert.equal((await webhookEndpoints.listDeliveries(id)).data[0]?.id, delivery.id)
    const { data } = await tapedeck.events.list({ type: 'ping' })
    assert.equal(data[0]?.id, delivery.event)
    assert.equal((await tapedeck.events.retrieve(delivery.event)).type, 'ping')
    const since = new Date(Date.now() - 60_000)
    assert.equal((await webhookEndpoints.redeliverFailed(id, { since })).object, 'webhook_redelivery')
    assert.equal((await webhookEndpoints.delete(id)).deleted, true)
    await assert.rejects(webhookEndpoints.retrieve(id), NotFoundError)
  })
})

describe('errors', () => {
  test('each type is a class, with code, param and request id', async () => {
    const error = await failure(tapedeck.sessions.create({ ...session(7), bytes: 0 }))
    assert.ok(error instanceof InvalidRequestError)
    assert.deepEqual(
      [error.type, error.code, error.param, error.status],
      ['invalid_request', 'parameter_invalid', 'bytes', 400],
    )
    assert.match(error.requestId, /^req_/)
    assert.match(error.message, /bytes must be an integer/)
  })

  test('a wrong key is told at once, without another try', async () => {
    const before = proxy.connections
    const stranger = new Tapedeck({ apiKey: 'svc_live_nobody', baseUrl: proxy.url, fetch: ownConnections })
    assert.ok((await failure(stranger.sessions.list())) instanceof AuthenticationError)
    assert.equal(proxy.connections - before, 1)
  })

  test('a key that may only read is refused by its class', async () => {
    const reader = new Tapedeck({
      apiKey: await service.makeKey({ permissions: ['read'] }),
      baseUrl: proxy.url,
      fetch: ownConnections,
    })
    const error = await failure(reader.sessions.create(session(8)))
    assert.ok(error instanceof PermissionError)
    assert.equal(error.code, 'write_required')
  })

  test('an address where nobody is, and one where somebody else is, are told in one line', async () => {
    const baseUrl = await closedAddress()
    const nobody = new Tapedeck({ apiKey: 'k', baseUrl, maxRetries: 0 })
    const error = await failure(nobody.sessions.list())
    assert.ok(error instanceof ConnectionError)
    assert.deepEqual([error.code, error.message], ['unreachable', `cannot reach ${baseUrl}: ECONNREFUSED`])
    for (const [status, answer] of [
      [200, httpAnswer(200, { 'Content-Type': 'text/html' }, '<html>hello</html>')],
      [404, httpAnswer(404, {}, 'nothing')],
      [301, httpAnswer(301, { Location: 'http://127.0.0.1:9/' })],
    ] as const) {
      proxy.fault = () => ({ answer })
      const other = await failure(client({ maxRetries: 0 }).sessions.list())
      assert.deepEqual([other.code, other.type], ['response_invalid', 'connection'], `${status}`)
      assert.match(other.message, /check the address$/)
    }
    proxy.fault = () => 'none'
  })

  test('wrong options are named', () => {
    const good = { apiKey: 'k', baseUrl: 'http://127.0.0.1:1' }
    const wrong: [object, string][] = [
      [{ apiKey: '' }, 'apiKey'],
      [{ apiKey: 'a b' }, 'apiKey'],
      [{ baseUrl: 'tapedeck' }, 'baseUrl'],
      [{ baseUrl: 'ftp://x' }, 'baseUrl'],
      [{ maxRetries: -1 }, 'maxRetries'],
      [{ timeoutMs: 0 }, 'timeoutMs'],
    ]
    for (const [option, param] of wrong) {
      assert.throws(
        () => new Tapedeck({ ...good, ...option }),
        (error) => error instanceof InvalidRequestError && error.param === param,
      )
    }
  })

  test('no key is to be seen in a client that is printed', () => {
    assert.ok(!inspect(tapedeck, { depth: 10, showHidden: true }).includes(service.key))
  })
})

describe('retries', () => {
  /** The first connections are spoiled, the next one is not. */
  function spoil(...faults: ReturnType<typeof proxy.fault>[]): void {
    const left = [...faults]
    proxy.fault = () => left.shift() ?? 'none'
  }

  test('a request that was cut off, reset, refused or half answered is sent again', async () => {
    spoil({ cut: 20 }, { reset: 20 }, { answer: httpAnswer(503, { 'Retry-After': '0' }) }, { truncate: 30 })
    assert.equal((await client().sessions.list({ limit: 1 })).data.length, 1)
  })

  test('a creation whose answer was lost is repeated and creates nothing more', async () => {
    const { length } = (await client().sessions.list({ limit: 500 })).data
    spoil({ truncate: 10 }, { truncate: 200 })
    const { id } = await client().sessions.create(session(9))
    const { data } = await client().sessions.list({ limit: 500 })
    assert.deepEqual([data.length, data[0]?.id], [length + 1, id])
  })

  test('a deletion whose answer was lost has happened', async () => {
    const { id } = await client().sessions.create(session(10))
    spoil({ truncate: 10 })
    assert.equal((await client().sessions.delete(id)).deleted, true)
    await assert.rejects(client().sessions.delete(id), NotFoundError)
  })

  test('after 429 the wait is at least what Retry-After says', async () => {
    spoil({ answer: httpAnswer(429, { 'Retry-After': '1' }) })
    const startMs = performance.now()
    await client().sessions.list()
    assert.ok(performance.now() - startMs >= 1000)
  })

  test('a storm outlasts the retries: the error says 429', async () => {
    proxy.fault = () => ({ answer: httpAnswer(429, { 'Retry-After': '0' }) })
    assert.ok((await failure(client({ maxRetries: 1 }).sessions.list())) instanceof RateLimitedError)
  })

  test('a service that does not answer in time is asked again', async () => {
    spoil('silence')
    assert.equal((await client({ timeoutMs: 1500 }).sessions.list({ limit: 1 })).data.length, 1)
    proxy.fault = () => 'silence'
    const error = await failure(client({ timeoutMs: 100, maxRetries: 0 }).sessions.list())
    assert.deepEqual([error.code, error.message], ['timeout', `${proxy.url} did not answer within 0.1 s`])
  })

  test('a signal ends a request that waits for another try', async () => {
    proxy.fault = () => ({ answer: httpAnswer(503, { 'Retry-After': '60' }) })
    const stop = new AbortController()
    const asking = client().sessions.retrieve('ses_x', { signal: stop.signal })
    setTimeout(() => stop.abort(new Error('enough')), 50)
    await assert.rejects(asking, /enough/)
    proxy.fault = () => 'none'
  })
})

/** A client whose every request is a connection of its own, so that each meets the fault meant for it. */
function client(options: { maxRetries?: number; timeoutMs?: number } = {}): Tapedeck {
  return new Tapedeck({ apiKey: service.key, baseUrl: proxy.url, fetch: ownConnections, ...options })
}

function ownConnections(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, headers: { ...init.headers, Connection: 'close' } })
}

/** Of a port that nobody listens on any more. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}

async function failure(asking: PromiseLike<unknown>): Promise<TapedeckError> {
  const error = await asking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof TapedeckError, String(error))
  return error
}
