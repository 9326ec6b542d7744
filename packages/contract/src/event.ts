import Type from 'typebox'
import { ListOf, pageParameters } from './list.ts'
import { Timestamp } from './names.ts'

/** What an endpoint can subscribe to. */
export const eventTypes = [
  'session.processed',
  'session.failed',
  'export.completed',
  'export.failed',
] as const
export type EventType = (typeof eventTypes)[number]

/** Sent by `test` alone, to whoever asks for it. */
export const PING = 'ping'
export const allEventTypes = [...eventTypes, PING] as const
export type AnyEventType = (typeof allEventTypes)[number]

export const Event = Type.Object(
  {
    id: Type.String({
      description: '`evt_…`; receivers deduplicate by it.',
      examples: ['evt_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a'],
    }),
    object: Type.Literal('event'),
    type: Type.Enum([...allEventTypes], { description: 'What happened.' }),
    created_at: Timestamp('When it happened.'),
    data: Type.Object({
      object: Type.Unknown({
        description:
          'For session events: `id`, `object`, `status`, `segment_count`; `session.failed` also has `issues`. For `ping`: the endpoint.',
      }),
    }),
  },
  { title: 'Event' },
)
export type Event = Type.Static<typeof Event>

export const EventList = ListOf(Event, 'List of events')
export type EventList = Type.Static<typeof EventList>

export const ListEvents = Type.Object(
  {
    type: Type.Optional(
      Type.Enum([...allEventTypes], {
        description: 'Only events of this type.',
        expectation: `must be one of ${allEventTypes.join(', ')}`,
      }),
    ),
    ...pageParameters,
  },
  { additionalProperties: false },
)
export type ListEvents = Type.Static<typeof ListEvents>

export const StreamEvents = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        description: 'Only events of this type, or of several, separated by commas.',
        pattern: `^(${allEventTypes.join('|')})(,(${allEventTypes.join('|')}))*$`.replaceAll('.', '\\.'),
        expectation: `must be one or several of ${allEventTypes.join(', ')}, separated by commas`,
        examples: ['session.processed,session.failed'],
      }),
    ),
    after: Type.Optional(
      Type.String({
        description:
          'Begin after this event instead of now. The header `Last-Event-ID` says the same. Events of the two minutes before it may come once more.',
        pattern: '^evt_[0-9a-v]{36}$',
        expectation: 'must be the id of an event',
      }),
    ),
  },
  { additionalProperties: false },
)
export type StreamEvents = Type.Static<typeof StreamEvents>
