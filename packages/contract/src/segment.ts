import Type from 'typebox'
import { channelKinds } from './kinds.ts'
import { ListOf, pageParameters, TimeFilter } from './list.ts'
import { Name, Nullable, nameExpectation, Timestamp } from './names.ts'
import { severities } from './session.ts'

export const Segment = Type.Object(
  {
    id: Type.String({ description: '`seg_…`', examples: ['seg_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a'] }),
    object: Type.Literal('segment'),
    session: Type.String({ description: 'The session it was cut from.' }),
    index: Type.Integer({ description: 'From 0, in the order of time.' }),
    t_start_ns: Type.Integer(),
    t_end_ns: Type.Integer(),
    started_at: Nullable(Timestamp('When it begins, where the recording has a date.')),
    duration_s: Type.Number(),
    cut: Type.Enum(['start', 'marker', 'silence', 'window'], {
      description: 'Why it begins where it begins.',
    }),
    label: Type.String({ description: 'What the recording itself calls it, if it does.' }),
    site: Type.String(),
    device: Nullable(Type.String()),
    channels: Type.Array(
      Type.Object({ name: Type.String(), message_count: Type.Integer(), rate_hz: Type.Number() }),
      { description: 'What was recorded in it.' },
    ),
    message_count: Type.Integer(),
    issues: Type.Array(Type.String(), { description: 'Codes of issues that have their place in it.' }),
    activity: Type.Number({ description: 'Share of it in which anything was recorded.' }),
    created_at: Timestamp('When the session was created.'),
  },
  { title: 'Segment' },
)
export type Segment = Type.Static<typeof Segment>

export const SegmentList = ListOf(Segment, 'List of segments')
export type SegmentList = Type.Static<typeof SegmentList>

const Seconds = (description: string) =>
  Type.Optional(
    Type.String({
      description,
      pattern: '^\\d{1,9}(\\.\\d{1,9})?$',
      expectation: 'must be a number of seconds',
      examples: ['12.5'],
    }),
  )

export const SearchSegments = Type.Object(
  {
    session: Type.Optional(
      Type.String({
        description: 'Only segments of this session.',
        pattern: '^ses_[0-9a-v]{36}$',
        expectation: 'must be the id of a session',
      }),
    ),
    site: Type.Optional(Name('Only segments recorded at this site.', 'warehouse-berlin')),
    device: Type.Optional(Name('Only segments of this device.', 'amr-07')),
    channel: Type.Optional(
      Type.String({
        description: 'Only segments with this channel, or with all of several, separated by commas.',
        pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,1000}$',
        expectation: nameExpectation,
        examples: ['camera/front_color,imu'],
      }),
    ),
    kind: Type.Optional(
      Type.Enum([...channelKinds], {
        description: 'Only segments with a channel of this kind.',
        expectation: `must be one of ${channelKinds.join(', ')}`,
      }),
    ),
    issue: Type.Optional(
      Type.String({
        description: 'Only segments with an issue of this code.',
        pattern: '^[a-z0-9_]{1,64}$',
        expectation: 'must be an issue code: lower-case letters, digits and underscores',
        examples: ['message_gap'],
      }),
    ),
    severity: Type.Optional(
      Type.Enum([...severities], {
        description: 'Only segments with an issue of this severity.',
        expectation: `must be one of ${severities.join(', ')}`,
      }),
    ),
    text: Type.Optional(
      Type.String({
        description: 'Words in notes, file name or site of the session; all of them must be there.',
        pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,200}$',
        expectation: 'must be 1 to 200 characters without control characters',
        examples: ['wheel change'],
      }),
    ),
    'recorded[gte]': TimeFilter('Begins at or after.'),
    'recorded[lt]': TimeFilter('Begins before.'),
    'duration[gte]': Seconds('At least so many seconds long.'),
    'duration[lt]': Seconds('Shorter than so many seconds.'),
    ...pageParameters,
  },
  { additionalProperties: false },
)
export type SearchSegments = Type.Static<typeof SearchSegments>
