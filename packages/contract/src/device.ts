import Type from 'typebox'
import { channelKinds } from './kinds.ts'
import { ListOf, pageParameters } from './list.ts'
import { Nullable, Timestamp } from './names.ts'

export const MAX_CALIBRATED_CHANNELS = 500

const Text = (description: string, pattern: string, expectation: string) =>
  Type.Optional(Type.String({ description, pattern, expectation }))

const Finite = Type.Number({ minimum: -1e12, maximum: 1e12, expectation: 'must be a finite number' })

const CalibratedChannel = Type.Object(
  {
    source: Type.String({
      description: 'The topic in the recording.',
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,255}$',
      expectation: 'must be 1 to 255 characters without control characters',
      examples: ['/camera/front/image_raw'],
    }),
    name: Text(
      'Our name for the channel, instead of the one made from the topic.',
      `^(${channelKinds.join('|')})(/[a-z0-9_]{1,120})?$`,
      'must be a kind, or a kind, a slash and a name of a-z, 0-9 and underscores',
    ),
    frame: Text(
      'Frame of the sensor.',
      '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,255}$',
      'must be 1 to 255 characters',
    ),
    rate_hz: Type.Optional(
      Type.Number({
        description: 'The rate to expect.',
        exclusiveMinimum: 0,
        maximum: 1e6,
        expectation: 'must be a number above 0 and up to 1000000',
      }),
    ),
    clock_offset_ns: Type.Optional(
      Type.Number({
        description: 'Known offset of the stamps.',
        minimum: -1e18,
        maximum: 1e18,
        expectation: 'must be a number of nanoseconds',
      }),
    ),
    intrinsics: Type.Optional(
      Type.Object(
        {
          width: Type.Integer({
            minimum: 1,
            maximum: 100_000,
            expectation: 'must be an integer from 1 to 100000',
          }),
          height: Type.Integer({
            minimum: 1,
            maximum: 100_000,
            expectation: 'must be an integer from 1 to 100000',
          }),
          k: Type.Array(Finite, {
            minItems: 9,
            maxItems: 9,
            expectation: 'must be the 9 numbers of a 3 by 3 matrix, row by row',
          }),
          d: Type.Array(Finite, { maxItems: 14, expectation: 'must be an array of at most 14 numbers' }),
          model: Type.String({ pattern: '^[a-z_]{1,64}$', expectation: 'must be a word such as plumb_bob' }),
        },
        { additionalProperties: false },
      ),
    ),
    extrinsic: Type.Optional(
      Type.Object(
        {
          parent: Type.String({
            pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,255}$',
            expectation: 'must be the name of a frame',
          }),
          translation: Type.Array(Finite, {
            minItems: 3,
            maxItems: 3,
            expectation: 'must be 3 numbers, in metres',
          }),
          rotation: Type.Array(Finite, {
            minItems: 4,
            maxItems: 4,
            expectation: 'must be 4 numbers, a quaternion x, y, z, w',
          }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

export const PutCalibration = Type.Object(
  {
    channels: Type.Array(CalibratedChannel, {
      description: 'What is known of each channel of the device.',
      maxItems: MAX_CALIBRATED_CHANNELS,
      expectation: `must be an array of at most ${MAX_CALIBRATED_CHANNELS} channels`,
    }),
  },
  { title: 'Put calibration', additionalProperties: false },
)
export type PutCalibration = Type.Static<typeof PutCalibration>

export const Calibration = Type.Object(
  {
    object: Type.Literal('calibration'),
    device: Type.String(),
    version: Type.Integer({ description: 'From 1; every version is kept, the last one is applied.' }),
    channels: Type.Array(CalibratedChannel),
    created_at: Timestamp('When this version was stored.'),
  },
  { title: 'Calibration' },
)
export type Calibration = Type.Static<typeof Calibration>

const recorded = {
  session_count: Type.Integer(),
  first_created_at: Timestamp('When its first session was created.'),
  last_created_at: Timestamp('When its last session was created.'),
}

export const Device = Type.Object(
  {
    object: Type.Literal('device'),
    name: Type.String(),
    ...recorded,
    calibration_version: Nullable(
      Type.Integer({ description: 'The version that is applied, if there is one.' }),
    ),
    channels: Type.Array(Type.String(), { description: 'What it sent in its last processed session.' }),
  },
  { title: 'Device' },
)
export type Device = Type.Static<typeof Device>

export const Site = Type.Object(
  { object: Type.Literal('site'), name: Type.String(), ...recorded },
  { title: 'Site' },
)
export type Site = Type.Static<typeof Site>

export const DeviceList = ListOf(Device, 'List of devices')
export type DeviceList = Type.Static<typeof DeviceList>
export const SiteList = ListOf(Site, 'List of sites')
export type SiteList = Type.Static<typeof SiteList>

export const ListByName = Type.Object({ ...pageParameters }, { additionalProperties: false })
export type ListByName = Type.Static<typeof ListByName>
