import type {
  CreateWebhookEndpoint,
  DeletedWebhookEndpoint,
  Event,
  EventList,
  Redelivery,
  UpdateWebhookEndpoint,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEndpoint,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
} from '@tapedeck/contract'

// An endpoint and what it is told, as the reference shows it. A test holds each against its schema.

const url = 'https://pipeline.example.com/hooks/tapedeck'

export const createEndpoint: CreateWebhookEndpoint = {
  url,
  events: ['session.processed', 'session.failed'],
  description: 'nightly training pipeline',
}

export const updateEndpoint: UpdateWebhookEndpoint = { status: 'disabled' }

export const endpoint: WebhookEndpoint = {
  id: 'we_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a',
  object: 'webhook_endpoint',
  url,
  events: ['session.processed', 'session.failed'],
  description: 'nightly training pipeline',
  status: 'enabled',
  created_at: '2026-03-14T09:20:00.000Z',
}

export const endpointWithSecret: WebhookEndpointWithSecret = {
  ...endpoint,
  secret: 'whsec_7tq0vXo2m9B4s1Zk8pR5cJ6wYhN3uEaD',
}

export const endpointList: WebhookEndpointList = {
  object: 'list',
  data: [endpoint],
  has_more: false,
  next_cursor: null,
}

export const deletedEndpoint: DeletedWebhookEndpoint = {
  id: endpoint.id,
  object: 'webhook_endpoint',
  deleted: true,
}

export const event: Event = {
  id: 'evt_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a',
  object: 'event',
  type: 'session.processed',
  created_at: '2026-03-14T09:31:07.412Z',
  data: {
    object: {
      id: 'ses_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a',
      object: 'session',
      status: 'processed',
      segment_count: 12,
    },
  },
}

export const eventList: EventList = { object: 'list', data: [event], has_more: false, next_cursor: null }

export const delivery: WebhookDelivery = {
  id: 'del_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a',
  object: 'webhook_delivery',
  endpoint: endpoint.id,
  event: event.id,
  event_type: 'session.processed',
  status: 'pending',
  created_at: '2026-03-14T09:31:07.412Z',
  next_attempt_at: '2026-03-14T09:31:12.530Z',
  attempts: [
    {
      number: 1,
      at: '2026-03-14T09:31:07.431Z',
      duration_ms: 87,
      status: 503,
      error: 'status',
      response: 'upstream is restarting',
    },
  ],
}

export const pingDelivery: WebhookDelivery = {
  ...delivery,
  event_type: 'ping',
  next_attempt_at: delivery.created_at,
  attempts: [],
}

export const deliveryList: WebhookDeliveryList = {
  object: 'list',
  data: [delivery],
  has_more: false,
  next_cursor: null,
}

export const redelivery: Redelivery = { object: 'webhook_redelivery', count: 3, has_more: false }
