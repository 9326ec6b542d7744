import assert from 'node:assert/strict'
import type {
  EventType,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from '@tapedeck/contract'
import { systemClock } from '../../src/clock.ts'
import { openJobs } from '../../src/jobs/jobs.ts'
import { announce } from '../../src/webhooks/plan.ts'
import { call } from './client.ts'
import type { Ending } from './ending.ts'
import { organisationId } from './seed.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

// What a test of webhooks does over and over, through the API.

type Where = { url: string; key: string }

export async function createEndpoint(
  { url, key }: Where,
  target: string,
  more: { events?: EventType[]; description?: string } = {},
): Promise<WebhookEndpointWithSecret> {
  const body = { url: target, events: ['session.failed'], ...more }
  const answer = await call<WebhookEndpointWithSecret>(url, 'POST', '/v1/webhook_endpoints', { key, body })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body
}

export async function updateEndpoint(
  { url, key }: Where,
  id: string,
  body: object,
): Promise<WebhookEndpoint> {
  const answer = await call<WebhookEndpoint>(url, 'PATCH', `/v1/webhook_endpoints/${id}`, { key, body })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

export async function rotateSecret({ url, key }: Where, id: string): Promise<WebhookEndpointWithSecret> {
  const path = `/v1/webhook_endpoints/${id}/rotate_secret`
  const answer = await call<WebhookEndpointWithSecret>(url, 'POST', path, { key })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** The simplest event there is, sent to one endpoint. */
export async function ping({ url, key }: Where, endpointId: string): Promise<WebhookDelivery> {
  const answer = await call<WebhookDelivery>(url, 'POST', `/v1/webhook_endpoints/${endpointId}/test`, { key })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

export async function redeliver({ url, key }: Where, { endpoint, id }: WebhookDelivery) {
  const path = `/v1/webhook_endpoints/${endpoint}/deliveries/${id}/redeliver`
  const answer = await call<WebhookDelivery>(url, 'POST', path, { key })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

export async function deliveriesOf(
  { url, key }: Where,
  endpointId: string,
  query = '',
): Promise<WebhookDelivery[]> {
  const path = `/v1/webhook_endpoints/${endpointId}/deliveries${query}`
  const { status, body } = await call<WebhookDeliveryList>(url, 'GET', path, { key })
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}

/** The delivery as it is once `holds` is true of it. */
export function untilDelivery(
  where: Where,
  { endpoint, id }: Pick<WebhookDelivery, 'endpoint' | 'id'>,
  claim: string,
  holds: (delivery: WebhookDelivery) => boolean,
): Promise<WebhookDelivery> {
  return until(`the delivery ${claim}`, async () => {
    const found = (await deliveriesOf(where, endpoint)).find((delivery) => delivery.id === id)
    return found && holds(found) ? found : undefined
  })
}

export function untilEnded(where: Where, delivery: WebhookDelivery): Promise<WebhookDelivery> {
  return untilDelivery(where, delivery, 'has ended', ({ status }) => status !== 'pending')
}

export function untilTried(
  where: Where,
  delivery: Pick<WebhookDelivery, 'endpoint' | 'id'>,
  attempts = 1,
): Promise<WebhookDelivery> {
  const claim = `was tried ${attempts} times`
  return untilDelivery(where, delivery, claim, (found) => found.attempts.length >= attempts)
}

/** Announces events as the service does when something happens to a session or an export. */
export async function openAnnouncements(
  t: Ending,
  { database }: Service,
): Promise<(type: EventType, ...objects: object[]) => Promise<void>> {
  const jobs = await openJobs(database.connection, () => {})
  t.after(() => jobs.stop())
  const organisation = await organisationId(database.db, 'default')
  const announcer = { clock: systemClock, jobs, retryScale: 0.01 }
  return (type, ...objects) =>
    database.db.transaction().execute(async (trx) => {
      for (const object of objects)
        await announce(announcer, trx, { organisationId: organisation, type, object })
    })
}
