import Type from 'typebox'
import { eventTypes } from './event.ts'
import { MAX_DESCRIPTION_CHARACTERS, MAX_URL_CHARACTERS } from './limits.ts'
import { ListOf, pageParameters } from './list.ts'
import { Nullable, Timestamp } from './names.ts'

export const endpointStatuses = ['enabled', 'disabled'] as const

const EventTypeName = Type.Enum([...eventTypes], { expectation: `must be one of ${eventTypes.join(', ')}` })

const Url = Type.String({
  description:
    'HTTPS address to call. No credentials, no fragment; public unless the operator allows local targets.',
  // Visible ASCII: a URL parser would drop tabs and line ends silently.
  pattern: `^[\\u0021-\\u007e]{1,${MAX_URL_CHARACTERS}}$`,
  expectation: `must be an https address of at most ${MAX_URL_CHARACTERS} visible ASCII characters`,
  examples: ['https://pipeline.example.com/hooks/tapedeck'],
})

const Events = Type.Array(EventTypeName, {
  description: 'Event names to send, each once.',
  minItems: 1,
  maxItems: eventTypes.length,
  expectation: `must be an array of 1 to ${eventTypes.length} event names`,
  examples: [['session.processed', 'session.failed']],
})

const Description = Type.String({
  description: 'Free text for people.',
  pattern: `^[^\\u0000-\\u001f\\u007f-\\u009f]{0,${MAX_DESCRIPTION_CHARACTERS}}$`,
  expectation: `must be at most ${MAX_DESCRIPTION_CHARACTERS} characters without control characters`,
  examples: ['nightly training pipeline'],
})

const endpointFields = {
  id: Type.String({ description: '`we_…`', examples: ['we_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a'] }),
  object: Type.Literal('webhook_endpoint'),
  url: Type.String(),
  events: Type.Array(Type.Enum([...eventTypes])),
  description: Nullable(Type.String()),
  status: Type.Enum([...endpointStatuses], { description: 'A disabled endpoint gets nothing.' }),
  created_at: Timestamp('When it was created.'),
}

export const WebhookEndpoint = Type.Object(endpointFields, { title: 'Webhook endpoint' })
export type WebhookEndpoint = Type.Static<typeof WebhookEndpoint>

export const WebhookEndpointWithSecret = Type.Object(
  {
    ...endpointFields,
    secret: Type.String({ description: '`whsec_…`: the key of the signatures. Shown only in this answer.' }),
  },
  { title: 'Webhook endpoint with its secret' },
)
export type WebhookEndpointWithSecret = Type.Static<typeof WebhookEndpointWithSecret>

export const WebhookEndpointList = ListOf(WebhookEndpoint, 'List of webhook endpoints')
export type WebhookEndpointList = Type.Static<typeof WebhookEndpointList>

export const DeletedWebhookEndpoint = Type.Object(
  { id: Type.String(), object: Type.Literal('webhook_endpoint'), deleted: Type.Literal(true) },
  { title: 'Deleted webhook endpoint' },
)
export type DeletedWebhookEndpoint = Type.Static<typeof DeletedWebhookEndpoint>

export const CreateWebhookEndpoint = Type.Object(
  { url: Url, events: Events, description: Type.Optional(Description) },
  { title: 'Create webhook endpoint', additionalProperties: false },
)
export type CreateWebhookEndpoint = Type.Static<typeof CreateWebhookEndpoint>

export const UpdateWebhookEndpoint = Type.Object(
  {
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    description: Type.Optional(Nullable(Description)),
    status: Type.Optional(
      Type.Enum([...endpointStatuses], {
        description: 'Disabling ends what is still to be delivered; it can be redelivered later.',
        expectation: `must be one of ${endpointStatuses.join(', ')}`,
      }),
    ),
  },
  { title: 'Update webhook endpoint', additionalProperties: false, minProperties: 1 },
)
export type UpdateWebhookEndpoint = Type.Static<typeof UpdateWebhookEndpoint>

export const ListWebhookEndpoints = Type.Object({ ...pageParameters }, { additionalProperties: false })
export type ListWebhookEndpoints = Type.Static<typeof ListWebhookEndpoints>
