import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type {
  Event,
  Session,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEndpointWithSecret,
} from '@tapedeck/contract'
import Stripe from 'stripe'
import { call, complete, followSession, recording, uploadAll } from './support/client.ts'
import { startReceiver } from './support/receiver.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' } })
})
after(() => service.close())

async function createEndpoint(url: string, events = ['session.failed']): Promise<WebhookEndpointWithSecret> {
  const answer = await call<WebhookEndpointWithSecret>(service.url, 'POST', '/v1/webhook_endpoints', {
    key: service.key,
    body: { url, events },
  })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body
}

async function failSession(): Promise<Session> {
  const { session, parts } = await uploadAll(service, recording(1))
  await complete(service, session.id, parts)
  return followSession(service, session.id)
}

async function deliveries(endpointId: string): Promise<WebhookDelivery[]> {
  const { body } = await call<WebhookDeliveryList>(
    service.url,
    'GET',
    `/v1/webhook_endpoints/${endpointId}/deliveries`,
    { key: service.key },
  )
  return body.data
}

test('a failed session reaches the subscribed endpoint, signed so that an independent verifier accepts it', async () => {
  const receiver = await startReceiver()
  const endpoint = await createEndpoint(receiver.url)
  const session = await failSession()
  const [delivered] = await receiver.arrived(1)
  const stripe = new Stripe('sk_test_x')
  const verified = stripe.webhooks.constructEvent(
    delivered?.body ?? '',
    String(delivered?.headers['service-signature']),
    endpoint.secret,
  )
  const event = verified as unknown as Event
  assert.equal(event.type, 'session.failed')
  assert.deepEqual(event.data.object, {
    id: session.id,
    object: 'session',
    status: 'failed',
    segment_count: 0,
    issues: session.issues,
  })
  const { body } = await call<Event>(service.url, 'GET', `/v1/events/${event.id}`, { key: service.key })
  assert.deepEqual(body, event)
  await receiver.close()
})

test('a receiver that fails is tried again with the same body, signed afresh', async () => {
  const receiver = await startReceiver((response, _, index) => {
    response.statusCode = index < 2 ? 500 : 204
    response.end(index < 2 ? 'not yet' : undefined)
  })
  const endpoint = await createEndpoint(receiver.url)
  await failSession()
  const all = await receiver.arrived(3)
  assert.equal(new Set(all.map(({ body }) => body)).size, 1)
  let [delivery] = await deliveries(endpoint.id)
  while (delivery?.status === 'pending') [delivery] = await deliveries(endpoint.id)
  assert.equal(delivery?.status, 'succeeded')
  assert.deepEqual(
    delivery?.attempts.map(({ number, status, error, response }) => ({ number, status, error, response })),
    [
      { number: 1, status: 500, error: 'status', response: 'not yet' },
      { number: 2, status: 500, error: 'status', response: 'not yet' },
      { number: 3, status: 204, error: null, response: '' },
    ],
  )
  await receiver.close()
})
