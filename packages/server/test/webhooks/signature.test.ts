import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, type TestContext, test } from 'node:test'
import { type Event, SECRET_OVERLAP_HOURS, SIGNATURE_TOLERANCE_S } from '@tapedeck/contract'
import { sql } from 'kysely'
import Stripe from 'stripe'
import { type TestClock, testClock } from '../support/clock.ts'
import { type Delivered, startReceiver } from '../support/receiver.ts'
import { type Service, startService } from '../support/service.ts'
import { createEndpoint, openAnnouncements, ping, rotateSecret, untilEnded } from '../support/webhooks.ts'

// Signatures as an independent verifier sees them: the contract's scheme is that of Stripe.

const stripe = new Stripe('sk_test_unused')

let service: Service
let clock: TestClock
before(async () => {
  clock = testClock()
  service = await startService({ clock, env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' } })
})
after(() => service.close())

function verify({ body, headers }: Delivered, secret: string, tolerance?: number): Event {
  const header = String(headers['service-signature'])
  const event: unknown = stripe.webhooks.constructEvent(body, header, secret, tolerance)
  return event as Event
}

function timeIn({ headers }: Delivered): number {
  return Number(/^t=(\d+)/.exec(String(headers['service-signature']))?.[1])
}

/** One ping, as it arrived. */
async function delivered(t: TestContext) {
  const receiver = await startReceiver(t)
  const endpoint = await createEndpoint(service, receiver.url)
  await ping(service, endpoint.id)
  const [first = assert.fail()] = await receiver.arrived(1)
  return { receiver, endpoint, first }
}

test('an independent verifier accepts a delivery with the secret shown on creation', async (t) => {
  const { endpoint, first } = await delivered(t)
  assert.equal(verify(first, endpoint.secret).type, 'ping')
})

test('the header is t, a comma, and one v1 of 64 hexadecimal digits', async (t) => {
  const { first } = await delivered(t)
  assert.match(String(first.headers['service-signature']), /^t=\d{10},v1=[0-9a-f]{64}$/)
})

test('the digest is of the time, a dot and the raw body, keyed with the whole secret', async (t) => {
  const { endpoint, first } = await delivered(t)
  const digest = createHmac('sha256', endpoint.secret)
    .update(`${timeIn(first)}.${first.body}`)
    .digest('hex')
  assert.equal(first.headers['service-signature'], `t=${timeIn(first)},v1=${digest}`)
})

test('a delivery is JSON, and says how long it is and who sends it', async (t) => {
  const { headers, body } = (await delivered(t)).first
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['content-length'], String(Buffer.byteLength(body)))
  assert.match(headers['user-agent'] ?? '', /Tapedeck/)
})

test('the wrong secret does not verify', async (t) => {
  const { first } = await delivered(t)
  assert.throws(() => verify(first, 'whsec_another'), /No signatures found/)
})

test('a body with one byte changed does not verify', async (t) => {
  const { endpoint, first } = await delivered(t)
  const changed = { ...first, body: first.body.replace('"ping"', '"pong"') }
  assert.notEqual(changed.body, first.body)
  assert.throws(() => verify(changed, endpoint.secret), /No signatures found/)
})

test('text beyond ASCII is signed as the bytes that are sent', async (t) => {
  const receiver = await startReceiver(t)
  const endpoint = await createEndpoint(service, receiver.url, { events: ['export.completed'] })
  const announce = await openAnnouncements(t, service)
  const object = { id: 'exp_1', name: 'Straße 二 🛰️ \u2028 "q" \\ </script>' }
  await announce('export.completed', object)
  const [first = assert.fail()] = await receiver.arrived(1)
  assert.deepEqual(verify(first, endpoint.secret).data.object, object)
})

test('a delivery that is kept back is refused after the tolerance', async (t) => {
  clock.advance(-(SIGNATURE_TOLERANCE_S + 5) * 1000)
  try {
    const { endpoint, first } = await delivered(t)
    assert.throws(() => verify(first, endpoint.secret, SIGNATURE_TOLERANCE_S), /outside the tolerance/)
    // Only its age speaks against it.
    assert.equal(verify(first, endpoint.secret, 10 * SIGNATURE_TOLERANCE_S).type, 'ping')
  } finally {
    clock.advance((SIGNATURE_TOLERANCE_S + 5) * 1000)
  }
})

test('every attempt is signed with its own time, over the same bytes', async (t) => {
  const receiver = await startReceiver(t, {
    answer: (response, _, index) => {
      clock.advance(1000 * 1000)
      response.writeHead(index < 2 ? 500 : 200).end()
    },
  })
  const endpoint = await createEndpoint(service, receiver.url)
  await ping(service, endpoint.id)
  const [first = assert.fail(), second = assert.fail(), third = assert.fail()] = await receiver.arrived(3)
  clock.advance(-3000 * 1000)
  assert.equal(second.body, first.body)
  assert.equal(third.body, first.body)
  assert.ok(timeIn(second) - timeIn(first) >= 1000)
  assert.ok(timeIn(third) - timeIn(second) >= 1000)
  for (const attempt of [first, second, third]) verify(attempt, endpoint.secret, 100_000)
})

test('during a rotation both secrets verify, by two v1', async (t) => {
  const { endpoint, receiver } = await delivered(t)
  const rotated = await rotateSecret(service, endpoint.id)
  await ping(service, endpoint.id)
  const second = (await receiver.arrived(2))[1] ?? assert.fail()
  assert.match(String(second.headers['service-signature']), /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
  assert.equal(verify(second, endpoint.secret).type, 'ping')
  assert.equal(verify(second, rotated.secret).type, 'ping')
})

test('a day after a rotation the new secret alone signs', async (t) => {
  const { endpoint, receiver } = await delivered(t)
  const rotated = await rotateSecret(service, endpoint.id)
  // The database keeps this time: the day passes there.
  await service.database.db
    .updateTable('webhook_endpoints')
    .set({
      previous_secret_until: sql<Date>`previous_secret_until - ${SECRET_OVERLAP_HOURS} * interval '1 hour'`,
    })
    .where('id', '=', endpoint.id)
    .execute()
  await ping(service, endpoint.id)
  const second = (await receiver.arrived(2))[1] ?? assert.fail()
  assert.equal(verify(second, rotated.secret).type, 'ping')
  assert.throws(() => verify(second, endpoint.secret), /No signatures found/)
  assert.match(String(second.headers['service-signature']), /^t=\d+,v1=[0-9a-f]{64}$/)
})

test('what was planned before a rotation is signed with the new secret too', async (t) => {
  let rotatedSecret = ''
  const receiver = await startReceiver(t, {
    answer: async (response, _, index) => {
      if (index === 0) rotatedSecret = (await rotateSecret(service, endpoint.id)).secret
      response.writeHead(index === 0 ? 500 : 200).end()
    },
  })
  const endpoint = await createEndpoint(service, receiver.url)
  await untilEnded(service, await ping(service, endpoint.id))
  const [, second = assert.fail()] = receiver.delivered
  assert.equal(verify(second, rotatedSecret).type, 'ping')
})
