import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { LEAST_BYTES, openPump } from '../src/storage/pump.ts'
import { call } from './support/client.ts'
import { head, openRaw, type Raw } from './support/raw.ts'
import { type Service, startService } from './support/service.ts'

// Clients that want to hold a place rather than to send something.

let service: Service
before(async () => {
  service = await startService({ patience: { headMs: 400, bodyMs: 400, connections: 3 } })
})
after(() => service.close())

/** One byte after the other until the service has had enough. */
async function trickle(raw: Raw): Promise<void> {
  let closed = false
  raw.closed.then(() => {
    closed = true
  })
  while (!closed) {
    await raw.send('a').catch(() => {})
    await delay(20)
  }
}

test('a head that comes byte by byte is told that it is late, and its connection ends', async () => {
  const raw = await openRaw(service.url)
  await raw.send('GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
  const [{ status }] = await Promise.all([raw.answer(), trickle(raw)])
  assert.equal(status, 400)
})

test('a connection that says nothing ends', async () => {
  const raw = await openRaw(service.url)
  await raw.closed
})

test('a body that comes byte by byte ends its connection', async () => {
  const raw = await openRaw(service.url)
  const authorization = `Bearer ${service.key}`
  const headers = { Authorization: authorization, 'Content-Type': 'application/json', 'Content-Length': 1000 }
  await raw.send(head('POST', `${service.url}/v1/sessions`, headers))
  await trickle(raw)
})

test('connections beyond those that are taken are closed, and the others are served', async () => {
  const open: Raw[] = []
  while (open.length < 3) {
    const raw = await openRaw(service.url)
    open.push(raw)
  }
  const beyond = await openRaw(service.url)
  await beyond.closed
  const [first, ...others] = open
  for (const raw of open) raw.hangUp()
  await Promise.all([first?.closed, ...others.map(({ closed }) => closed)])
  assert.equal((await call(service.url, 'GET', '/healthz')).status, 200)
})

test('a part that comes byte by byte is given up, one that comes slowly is not', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const outcome = (chunkBytes: number) => {
    const body = new PassThrough()
    let fault: Error | undefined
    const events = {
      send() {},
      end() {},
      fail(error: Error) {
        fault = error
      },
    }
    const pump = openPump(body, 2 ** 20, 60_000, events)
    pump.start()
    for (let second = 0; second < 300 && !fault; second++) {
      body.emit('data', new Uint8Array(chunkBytes))
      t.mock.timers.tick(1_000)
    }
    pump.stop()
    return fault?.message
  }
  assert.match(outcome(1) ?? '', /less than 4096 bytes were received within 60000 ms/)
  assert.equal(outcome(Math.ceil(LEAST_BYTES / 59)), undefined)
})
