import Type from 'typebox'
import { allEventTypes } from './event.ts'
import { ListOf, pageParameters } from './list.ts'
import { Nullable, Timestamp } from './names.ts'

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** Why an attempt failed. Says what the receiver did, never what was found behind an address. */
export const attemptErrors = {
  status: 'The receiver answered with another status than 2xx.',
  redirect: 'The receiver answered with a redirect, which is never followed.',
  timeout: 'No answer within 10 seconds.',
  dns: 'The name of the host could not be resolved.',
  address_blocked: 'The host is at an address that webhooks are not sent to.',
  connection: 'The connection was refused, reset or closed before an answer.',
  tls: 'No TLS connection could be made, or the certificate is not valid for the host.',
  response_invalid: 'What came back is not an HTTP answer.',
  secret_unreadable: 'The secret of the endpoint could not be decrypted, so nothing was sent.',
  endpoint_disabled: 'The endpoint was disabled before the event could be delivered.',
} as const
export type AttemptError = keyof typeof attemptErrors

export const DeliveryAttempt = Type.Object({
  number: Type.Integer({ description: 'From 1, over all redeliveries.' }),
  at: Timestamp('When it began.'),
  duration_ms: Type.Integer(),
  status: Nullable(Type.Integer({ description: 'HTTP status of the answer, if one came.' })),
  error: Nullable(Type.Enum(Object.keys(attemptErrors), { description: 'Why it failed; null on success.' })),
  response: Type.String({ description: 'The first 2 KiB of the answer.' }),
})
export type DeliveryAttempt = Type.Static<typeof DeliveryAttempt>

export const WebhookDelivery = Type.Object(
  {
    id: Type.String({ description: '`del_…`', examples: ['del_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a'] }),
    object: Type.Literal('webhook_delivery'),
    endpoint: Type.String({ description: 'The endpoint, `we_…`.' }),
    event: Type.String({ description: 'The event, `evt_…`; the same at every redelivery.' }),
    event_type: Type.Enum([...allEventTypes]),
    status: Type.Enum([...deliveryStatuses], { description: 'Whether it arrived, or will be tried again.' }),
    created_at: Timestamp('When the delivery was planned.'),
    next_attempt_at: Nullable(Timestamp('When it is tried next.')),
    attempts: Type.Array(DeliveryAttempt, { description: 'Every attempt, the first one first.' }),
  },
  { title: 'Webhook delivery' },
)
export type WebhookDelivery = Type.Static<typeof WebhookDelivery>

export const WebhookDeliveryList = ListOf(WebhookDelivery, 'List of webhook deliveries')
export type WebhookDeliveryList = Type.Static<typeof WebhookDeliveryList>

export const ListWebhookDeliveries = Type.Object(
  {
    status: Type.Optional(
      Type.Enum([...deliveryStatuses], {
        description: 'Only deliveries in this state.',
        expectation: `must be one of ${deliveryStatuses.join(', ')}`,
      }),
    ),
    event_type: Type.Optional(
      Type.Enum([...allEventTypes], {
        description: 'Only deliveries of events of this type.',
        expectation: `must be one of ${allEventTypes.join(', ')}`,
      }),
    ),
    ...pageParameters,
  },
  { additionalProperties: false },
)
export type ListWebhookDeliveries = Type.Static<typeof ListWebhookDeliveries>

export const RedeliverFailed = Type.Object(
  {
    since: Type.String({
      description: 'Failed deliveries planned at or after this time. ISO 8601 with `Z` or an offset.',
      format: 'date-time',
      expectation: 'must be an ISO 8601 time with Z or an offset, such as 2026-03-14T09:26:53Z',
      examples: ['2026-03-14T00:00:00Z'],
    }),
  },
  { title: 'Redeliver failed deliveries', additionalProperties: false },
)
export type RedeliverFailed = Type.Static<typeof RedeliverFailed>

export const Redelivery = Type.Object(
  {
    object: Type.Literal('webhook_redelivery'),
    count: Type.Integer({ description: 'Deliveries that are tried again.' }),
    has_more: Type.Boolean({ description: 'There are more than one call takes on (10,000); call again.' }),
  },
  { title: 'Redelivery' },
)
export type Redelivery = Type.Static<typeof Redelivery>
