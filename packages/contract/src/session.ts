import Type from 'typebox'
import { MAX_FILE_BYTES, MAX_PART_BYTES, MAX_PARTS, MIN_PART_BYTES } from './limits.ts'
import { ListOf, pageParameters, TimeFilter } from './list.ts'
import { Name, Notes, Nullable, nameExpectation, Sha256Hex, Timestamp } from './names.ts'

export const sessionStatuses = ['uploading', 'uploaded', 'processing', 'processed', 'failed'] as const
export type SessionStatus = (typeof sessionStatuses)[number]

export const severities = ['info', 'warning', 'error'] as const

export const Issue = Type.Object(
  {
    code: Type.String({ description: 'A stable word.', examples: ['clock_offset_estimated'] }),
    severity: Type.Enum([...severities], { description: 'How bad it is.' }),
    channel: Type.String({ description: 'The channel it concerns; empty for the recording as a whole.' }),
    detail: Type.String({ description: 'What was found, for people.' }),
    t_ns: Type.Optional(Type.Integer({ description: 'First occurrence, in nanoseconds.' })),
    count: Type.Optional(Type.Integer({ description: 'How many messages or places it concerns.' })),
    value: Type.Optional(Type.Number({ description: 'What was measured; times in nanoseconds.' })),
    threshold: Type.Optional(Type.Number({ description: 'What it was compared with.' })),
  },
  { title: 'Issue' },
)
export type Issue = Type.Static<typeof Issue>

const UploadPart = Type.Object({
  number: Type.Integer({ description: 'From 1.' }),
  url: Type.String({ description: 'Signed: PUT the bytes of the part here.' }),
})

const ReceivedPart = Type.Object({
  number: Type.Integer(),
  bytes: Type.Integer(),
  sha256: Type.String({ description: 'Hex digest of the part as it was received.' }),
  etag: Type.String({ description: 'What `complete` wants for this part.' }),
  url: Type.String({ description: 'Signed: PUT here to replace the part.' }),
})

const uploadFields = {
  part_size: Type.Integer({ description: 'Size of every part but the last, in bytes.' }),
  expires_at: Timestamp('When the URLs expire; retrieve the session for fresh ones.'),
  parts: Type.Array(UploadPart, { description: 'The parts not yet received.' }),
}

export const Upload = Type.Object({
  ...uploadFields,
  received: Type.Array(ReceivedPart, { description: 'The parts received so far.' }),
})

export const CreatedSession = Type.Object(
  {
    id: Type.String({ examples: ['ses_0ck2m8q4n1v7h5t3r9p6j2d8f4b0w1x7z5ya'] }),
    object: Type.Literal('session'),
    status: Type.Literal('uploading'),
    upload: Type.Object(uploadFields),
  },
  { title: 'Created session' },
)
export type CreatedSession = Type.Static<typeof CreatedSession>

const Progress = Type.Object(
  {
    stage: Type.Enum(['waiting', 'reading', 'writing'], { description: 'What is being done.' }),
    fraction: Type.Number({ description: 'How much of it, from 0 to 1.' }),
  },
  { description: 'While the session is being processed.' },
)

export const Session = Type.Object(
  {
    id: Type.String({ description: '`ses_…`', examples: ['ses_0ck2m8q4n1v7h5t3r9p6j2d8f4b0w1x7z5ya'] }),
    object: Type.Literal('session'),
    site: Name('Where the recording was made; created on first use.', 'warehouse-berlin'),
    device: Nullable(Name('The device that recorded.', 'amr-07')),
    filename: Name('Original file name; used to detect the format.', 'run_0042.mcap'),
    bytes: Type.Integer({ description: 'Size of the file.', examples: [734003200] }),
    sha256: Sha256Hex('SHA-256 of the whole file, lower case; verified on completion.'),
    status: Type.Enum([...sessionStatuses], { description: 'Where the session stands.' }),
    recorded_at: Nullable(Timestamp('When the recording began.')),
    duration_s: Nullable(Type.Number({ description: 'Length of the recording in seconds.' })),
    channels: Type.Array(Type.String(), { description: "Channels found, under the service's own names." }),
    segment_count: Type.Integer({ description: 'Segments cut from the recording.' }),
    issues: Type.Array(Issue, { description: 'Problems found during processing, worst first.' }),
    notes: Nullable(Notes('Free text kept with the session.')),
    created_at: Timestamp('When the session was created.'),
    processed_at: Nullable(Timestamp('When processing finished.')),
    upload: Type.Optional(Upload),
    processing: Type.Optional(Progress),
  },
  { title: 'Session' },
)
export type Session = Type.Static<typeof Session>

export const DeletedSession = Type.Object(
  { id: Type.String(), object: Type.Literal('session'), deleted: Type.Literal(true) },
  { title: 'Deleted session' },
)
export type DeletedSession = Type.Static<typeof DeletedSession>

export const SessionList = ListOf(Session, 'List of sessions')
export type SessionList = Type.Static<typeof SessionList>

export const CreateSession = Type.Object(
  {
    site: Name('Site name; created on first use.', 'warehouse-berlin'),
    filename: Name('Original file name.', 'run_0042.mcap'),
    bytes: Type.Integer({
      description: 'Total size of the file in bytes.',
      minimum: 1,
      maximum: MAX_FILE_BYTES,
      expectation: `must be an integer from 1 to ${MAX_FILE_BYTES}`,
      examples: [734003200],
    }),
    sha256: Sha256Hex('Hex SHA-256 of the whole file.'),
    part_size: Type.Optional(
      Type.Integer({
        description:
          'Part size in bytes. Default 64 MiB, or the smallest that makes no more than 10,000 parts.',
        minimum: MIN_PART_BYTES,
        maximum: MAX_PART_BYTES,
        expectation: `must be an integer from ${MIN_PART_BYTES} to ${MAX_PART_BYTES}`,
        examples: [67108864],
      }),
    ),
    device: Type.Optional(Name('Device name; used to apply a stored calibration.', 'amr-07')),
    notes: Type.Optional(Notes('Free text kept with the session.')),
  },
  { title: 'Create session', additionalProperties: false },
)
export type CreateSession = Type.Static<typeof CreateSession>

export const CompleteSession = Type.Object(
  {
    parts: Type.Array(
      Type.Object(
        {
          number: Type.Integer({
            minimum: 1,
            maximum: MAX_PARTS,
            expectation: `must be an integer from 1 to ${MAX_PARTS}`,
            examples: [1],
          }),
          etag: Type.String({
            description: 'The `ETag` that the upload of the part answered with; quotes may be left out.',
            pattern: '^("[0-9a-f]{64}"|[0-9a-f]{64})$',
            expectation: 'must be the ETag that the upload of this part answered with',
            examples: ['"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"'],
          }),
        },
        { additionalProperties: false },
      ),
      {
        description: 'Every part, once each, in order.',
        minItems: 1,
        maxItems: MAX_PARTS,
        expectation: `must be an array of 1 to ${MAX_PARTS} parts`,
      },
    ),
  },
  { title: 'Complete session', additionalProperties: false },
)
export type CompleteSession = Type.Static<typeof CompleteSession>

export const ListSessions = Type.Object(
  {
    site: Type.Optional(Name('Only sessions at this site.', 'warehouse-berlin')),
    device: Type.Optional(Name('Only sessions of this device.', 'amr-07')),
    status: Type.Optional(
      Type.Enum([...sessionStatuses], {
        description: 'Only sessions in this state.',
        expectation: `must be one of ${sessionStatuses.join(', ')}`,
      }),
    ),
    channel: Type.Optional(
      Type.String({
        description: 'Only sessions with this channel.',
        pattern: '^[^\\u0000-\\u001f]{1,255}$',
        expectation: nameExpectation,
        examples: ['camera/front_color'],
      }),
    ),
    issue: Type.Optional(
      Type.String({
        description: 'Only sessions with an issue of this code.',
        pattern: '^[a-z0-9_]{1,64}$',
        expectation: 'must be an issue code: lower-case letters, digits and underscores',
        examples: ['message_gap'],
      }),
    ),
    'created[gte]': TimeFilter('Created at or after.'),
    'created[lt]': TimeFilter('Created before.'),
    'recorded[gte]': TimeFilter('Recorded at or after.'),
    'recorded[lt]': TimeFilter('Recorded before.'),
    ...pageParameters,
  },
  { additionalProperties: false },
)
export type ListSessions = Type.Static<typeof ListSessions>
