import Type from 'typebox'
import { channelKinds } from './kinds.ts'
import { ListOf } from './list.ts'
import { Nullable } from './names.ts'
import { Issue } from './session.ts'

const ClockModel = Type.Object(
  {
    kind: Type.String({ description: '`synchronised`, `offset`, `gps`, `simulated`, `frozen` or `unset`.' }),
    offset_ns: Type.Number({ description: 'Stamp minus time of recording, by the median.' }),
    envelope_offset_ns: Type.Number({
      description: 'The same by the lower envelope: up to the least transport delay.',
    }),
    drift_ppm: Nullable(
      Type.Number({ description: 'Only where it is significant. Positive: the sensor runs fast.' }),
    ),
    pairs: Type.Integer({ description: 'Messages that it was estimated from.' }),
  },
  { description: "The sensor's clock beside the recorder's." },
)

export const Channel = Type.Object(
  {
    object: Type.Literal('channel'),
    name: Type.String({ description: "The service's own name.", examples: ['camera/front_color'] }),
    kind: Type.Enum([...channelKinds]),
    source: Type.String({ description: 'Topic, message or track in the recording.' }),
    schema: Type.String(),
    encoding: Type.String(),
    message_count: Type.Integer(),
    bytes: Type.Integer(),
    first_t_ns: Nullable(Type.Integer()),
    last_t_ns: Nullable(Type.Integer()),
    rate_hz: Nullable(Type.Number({ description: 'From the median period.' })),
    jitter_ns: Nullable(Type.Number({ description: 'Median distance of the periods from their median.' })),
    largest_gap_ns: Nullable(Type.Number()),
    clock: Nullable(ClockModel),
    issues: Type.Array(Issue),
  },
  { title: 'Channel' },
)
export type Channel = Type.Static<typeof Channel>

export const ChannelList = ListOf(Channel, 'List of channels')
export type ChannelList = Type.Static<typeof ChannelList>

export const Timeline = Type.Object(
  {
    object: Type.Literal('timeline'),
    session: Type.String(),
    t_start_ns: Type.Integer({ description: 'Where the first bin begins.' }),
    bin_ns: Type.Number({ description: 'Width of a bin.' }),
    channels: Type.Array(
      Type.Object({
        name: Type.String(),
        counts: Type.Array(Type.Integer(), { description: 'Messages in each bin; empty with `packed`.' }),
      }),
    ),
    bin_count: Type.Integer({ description: 'Bins of each channel.' }),
    packed: Type.Optional(
      Type.String({
        description:
          'With `counts=packed`: all counts, channel after channel, as 32-bit little-endian integers, raw deflate, base64.',
      }),
    ),
  },
  { title: 'Timeline' },
)
export type Timeline = Type.Static<typeof Timeline>

export const RetrieveTimeline = Type.Object(
  {
    counts: Type.Optional(
      Type.Enum(['listed', 'packed'], {
        description: 'How the counts are given: as numbers, or packed into one text that is far smaller.',
        default: 'listed',
        expectation: 'must be listed or packed',
      }),
    ),
  },
  { additionalProperties: false },
)
export type RetrieveTimeline = Type.Static<typeof RetrieveTimeline>
