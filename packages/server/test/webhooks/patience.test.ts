import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { before, test } from 'node:test'
import { WEBHOOK_TIMEOUT_MS, type WebhookDelivery } from '@tapedeck/contract'
import { sql } from 'kysely'
import { endWithFile } from '../support/ending.ts'
import { type Answer, type Receiver, startRawReceiver, startReceiver } from '../support/receiver.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  createEndpoint,
  deliveriesOf,
  openAnnouncements,
  ping,
  untilDelivery,
  untilEnded,
} from '../support/webhooks.ts'

// All that takes the ten seconds a receiver has. Everything is sent at once, so that all of it is one wait.

const SCALE = 0.01
const DRIP_MS = 200
const BURST = 10
/** As many as an endpoint gets at once when it answers well. */
const MAX_WIDTH = 32
const ANSWERS_BEFORE_SILENCE = 2 * MAX_WIDTH

const file = endWithFile()
let service: Service
const tried: Record<string, WebhookDelivery> = {}
let hanging: Receiver
let duringWait: { healthy: WebhookDelivery; hanging: WebhookDelivery[]; arrived: number }
let afterWait: WebhookDelivery[]
let pausedMs: number

before(async () => {
  service = await startService({
    env: { TAPEDECK_WEBHOOK_RETRY_SCALE: String(SCALE) },
    resolve: (host) => (host === 'silent.test' ? new Promise(() => {}) : assert.fail(host)),
  })
  file.after(() => service.close())
  const receiver = await startReceiver(file)
  const healthy = await createEndpoint(service, receiver.url)
  const givenUp = [await startAll(), await startBurst(), await startFallingSilent()]
  duringWait = {
    healthy: await untilEnded(service, await ping(service, healthy.id)),
    hanging: await deliveriesOf(service, burstEndpoint),
    arrived: hanging.delivered.length,
  }
  await Promise.all(givenUp.flat())
  pausedMs = await pauseOf(fallenSilent)
  for (const [name, delivery] of Object.entries(tried))
    tried[name] = await untilDelivery(service, delivery, 'was tried', ({ attempts }) => attempts.length > 0)
  afterWait = await until('the burst was given up', async () => {
    const found = await deliveriesOf(service, burstEndpoint)
    return found.filter(({ attempts }) => attempts.length > 0).length === 1 && found
  })
})

/** One delivery to each kind of slow receiver; the promises are fulfilled when the service has given up. */
async function startAll(): Promise<Promise<unknown>[]> {
  const closings: Promise<unknown>[] = []
  const raw = async (act: (socket: Socket) => void) => {
    const closed = Promise.withResolvers<void>()
    closings.push(closed.promise)
    const { url } = await startRawReceiver(file, (socket) => {
      socket.once('close', () => closed.resolve())
      act(socket)
    })
    return url
  }
  const urls = {
    silence: await raw(() => {}),
    'a head that drips': await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')
      drip(socket)
    }),
    'a body that drips': await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
      drip(socket)
    }),
    'a TLS handshake without an end': (await raw(() => {})).replace('http:', 'https:'),
    'a name server without an answer': 'http://silent.test/hook',
  }
  for (const [name, url] of Object.entries(urls)) {
    const { id } = await createEndpoint(service, url)
    tried[name] = await ping(service, id)
  }
  return closings
}

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('x'), DRIP_MS)
  socket.once('close', () => clearInterval(timer))
}

let burstEndpoint = ''
const held: ServerResponse[] = []

/** Ten deliveries at once to a receiver that holds the first two, and answers the others. */
async function startBurst(): Promise<Promise<unknown>[]> {
  const answer: Answer = (response) => {
    if (held.length === 2) response.end()
    else held.push(response)
  }
  hanging = await startReceiver(file, { answer })
  burstEndpoint = (await createEndpoint(service, hanging.url, { events: ['export.failed'] })).id
  const announce = await openAnnouncements(file, service)
  await announce('export.failed', ...Array.from({ length: BURST }, (_, index) => ({ id: `exp_${index}` })))
  await hanging.arrived(1)
  return held.map((response) => once(response, 'close'))
}

let fallenSilent = ''

/** A receiver that answers well for a while, then no more, with as many deliveries on their way as can be. */
async function startFallingSilent(): Promise<Promise<unknown>[]> {
  const silenced: ServerResponse[] = []
  const receiver = await startReceiver(file, {
    answer: (response, _, index) => {
      if (index < ANSWERS_BEFORE_SILENCE) response.end()
      else silenced.push(response)
    },
  })
  fallenSilent = (await createEndpoint(service, receiver.url, { events: ['export.completed'] })).id
  const announce = await openAnnouncements(file, service)
  const objects = Array.from({ length: 4 * MAX_WIDTH }, (_, index) => ({ id: `exp_${index}` }))
  await announce('export.completed', ...objects)
  await receiver.arrived(ANSWERS_BEFORE_SILENCE + MAX_WIDTH)
  return silenced.map((response) => once(response, 'close'))
}

for (const name of [
  'silence',
  'a head that drips',
  'a TLS handshake without an end',
  'a name server without an answer',
]) {
  test(`${name} is a timeout after ten seconds in all`, () => {
    const [attempt = assert.fail()] = tried[name]?.attempts ?? []
    const { error, status, response } = attempt
    assert.deepEqual({ error, status, response }, { error: 'timeout', status: null, response: '' })
    // Timers may be a little early by another clock.
    assert.ok(attempt.duration_ms >= WEBHOOK_TIMEOUT_MS - 10, `${attempt.duration_ms} ms`)
    assert.equal(tried[name]?.status, 'pending')
  })
}

test('a body that drips is cut off after ten seconds; the status came in time and counts', () => {
  const [attempt = assert.fail()] = tried['a body that drips']?.attempts ?? []
  assert.deepEqual([attempt.error, attempt.status], [null, 200])
  assert.match(attempt.response, /^x+$/)
  assert.ok(attempt.duration_ms >= WEBHOOK_TIMEOUT_MS - 10, `${attempt.duration_ms} ms`)
  assert.ok(attempt.response.length <= attempt.duration_ms / DRIP_MS + 1)
})

test('meanwhile another endpoint gets its own', () => {
  assert.equal(duringWait.healthy.status, 'succeeded')
  assert.deepEqual(
    duringWait.hanging.filter(({ attempts }) => attempts.length > 0),
    [],
    'nothing had been given up by then',
  )
})

test('an endpoint that has answered nothing gets one at a time', () => {
  assert.equal(duringWait.arrived, 1)
})

test('what waits behind deliveries that time out is put off, untried', () => {
  const untried = afterWait.filter(({ attempts }) => attempts.length === 0)
  assert.equal(untried.length, BURST - 1)
  for (const { status, next_attempt_at } of untried) {
    assert.equal(status, 'pending')
    assert.ok(next_attempt_at)
  }
})

test('after its pause an endpoint is tried with one delivery, and gets all the others when that is answered', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await createEndpoint(service, receiver.url)
  await hanging.arrived(2)
  await untilEnded(service, await ping(service, id))
  assert.equal(hanging.inFlight(), 1)
  held[1]?.end()
  const ended = await until('all of the burst have arrived', async () => {
    const found = await deliveriesOf(service, burstEndpoint)
    return found.every(({ status }) => status === 'succeeded') && found
  })
  assert.deepEqual(ended.map(({ attempts }) => attempts.length).sort(), [...Array(BURST - 1).fill(1), 2])
})

test('one silence pauses an endpoint for no longer than one timeout does, however many ran into it', () => {
  assert.ok(
    pausedMs <= 15_000 * SCALE,
    `paused for ${pausedMs} ms, which is ${pausedMs / SCALE / 60_000} min`,
  )
})

/** What is left of the pause of an endpoint that has timed out. */
function pauseOf(endpointId: string): Promise<number> {
  return until('the timeouts are written', async () => {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from paused_until - now())::float8 * 1000 as ms
      from webhook_endpoints where id = ${endpointId} and timeouts > 0`.execute(service.database.db)
    return rows[0] && (rows[0].ms ?? 0)
  })
}
