import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '@foxglove/rosmsg'
import { MessageWriter } from '@foxglove/rosmsg2-serialization'
import { writeBag } from '../../formats/test/support/bag-writer.ts'
import { connections, drive } from '../../formats/test/support/drive.ts'
import { film, pictures } from '../../formats/test/support/film.ts'
import { grayJpeg } from '../../formats/test/support/jpeg-writer.ts'
import { changeRecord, corruptChunk, opcodes } from '../../formats/test/support/mcap-edit.ts'
import {
  assembleMcap,
  channelOf,
  messageAt,
  noSummary,
  writeMcap,
} from '../../formats/test/support/mcap-writer.ts'
import type { Analysis } from '../src/analysis.ts'
import { type IssueCode, issueCodes } from '../src/issue.ts'
import { analyseBytes } from './support/analyse-bytes.ts'
import { mcapFile } from './support/mcap-file.ts'
import { imu, record, START_NS, sensors, toMcap } from './support/robot.ts'

// Every code, by a recording that has it. Those that need many variants have tests of their own; this keeps the list
// of codes from promising what nothing produces.

const MS = 1e6
const line = `${'='.repeat(80)}\n`
const headerDefinition = `${line}MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n${line}MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n`
const vector = `${line}MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n`

/** A channel of ROS 2 messages, every so many milliseconds. */
function ros2(
  topic: string,
  schema: string,
  definition: string,
  periodMs: number,
  values: (n: number) => object,
  count = 100,
) {
  const writer = new MessageWriter(parse(definition, { ros2: true }))
  const channel = { topic, schema, schemaEncoding: 'ros2msg', definition, encoding: 'cdr' }
  const messages = Array.from({ length: count }, (_, n) => {
    const t = n * periodMs * MS
    const ns = START_NS + BigInt(t)
    const stamp = { sec: Number(ns / 1_000_000_000n), nanosec: Number(ns % 1_000_000_000n) }
    const data = writer.writeMessage({ header: { stamp, frame_id: 'x' }, ...values(n) })
    return { topic, t: t + MS, data: new Uint8Array(data) }
  })
  return mcapFile(START_NS, [channel], messages)
}

const imuDefinition = `std_msgs/Header header\ngeometry_msgs/Vector3 angular_velocity\ngeometry_msgs/Vector3 linear_acceleration\n${headerDefinition}${vector}`
const imuWith = (acceleration: (n: number) => number) =>
  ros2('/imu', 'sensor_msgs/msg/Imu', imuDefinition, 10, (n) => ({
    angular_velocity: { x: 0, y: 0, z: 0.1 },
    linear_acceleration: { x: 0, y: 0, z: acceleration(n) },
  }))
const compressed = `std_msgs/Header header\nstring format\nuint8[] data\n${headerDefinition}`
const cameraWith = (brightness: (n: number) => number) =>
  ros2('/camera/image/compressed', 'sensor_msgs/msg/CompressedImage', compressed, 100, (n) => ({
    format: 'jpeg',
    data: grayJpeg({ width: 64, height: 64 }, () => brightness(n)),
  }))
const raw = `std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n${headerDefinition}`
const rawWith = (pixel: (n: number, at: number) => number) =>
  ros2('/camera/image', 'sensor_msgs/msg/Image', raw, 100, (n) => ({
    height: 16,
    width: 16,
    encoding: 'rgba8',
    is_bigendian: 0,
    step: 64,
    data: Uint8Array.from({ length: 1024 }, (_, at) => (at % 4 === 3 ? 255 : pixel(n, at))),
  }))
const tf = `geometry_msgs/TransformStamped[] transforms\n${line}MSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\n${headerDefinition}`
const treeOf = (...links: [parent: string, child: string][]) =>
  ros2('/tf', 'tf2_msgs/msg/TFMessage', tf, 100, () => ({
    transforms: links.map(([frame_id, child_frame_id]) => ({
      header: { stamp: { sec: 1, nanosec: 0 }, frame_id },
      child_frame_id,
    })),
  }))
const sound = () => toMcap(sensors.map((sensor, n) => record(sensor, n + 1)))
const defect = (change: (messages: ReturnType<typeof record>) => ReturnType<typeof record>) =>
  toMcap([change(record(imu, 1)), ...sensors.slice(1).map((sensor, n) => record(sensor, n + 2))])
const indexed = async () => (await writeMcap()).bytes

type Made = Uint8Array | Promise<Uint8Array>
const withFile =
  (make: () => Made, filename = 'x.mcap') =>
  async () =>
    analyseBytes(await make(), filename)

/** What the service says, and not the analysis: its own tests produce these. */
const ofTheService = ['processing_crashed', 'processing_limit', 'recording_lost'] as const
type OwnCode = Exclude<IssueCode, (typeof ofTheService)[number]>

const recordings: Record<OwnCode, () => Promise<Analysis>> = {
  format_mismatch: withFile(indexed, 'x.bag'),
  format_unsupported: withFile(() => Buffer.from('hello'), 'x.xyz'),
  recording_empty: withFile(() => assembleMcap(() => {})),
  recording_truncated: withFile(async () => (await indexed()).slice(0, -500)),
  index_missing: withFile(async () => (await writeMcap({ without: noSummary })).bytes),
  index_mismatch: withFile(async () =>
    changeRecord(await indexed(), opcodes.statistics, 0, (body) => body.setBigUint64(0, 7n, true)),
  ),
  chunk_corrupt: withFile(async () => corruptChunk(await indexed(), 1)),
  schema_missing: withFile(() =>
    assembleMcap((file) => {
      file.writeChannel(channelOf(1, '/a', 9))
      file.writeMessage(messageAt(1, 0))
    }),
  ),
  schema_conflict: withFile(
    () =>
      writeBag({
        ...drive(),
        connections: connections.map((one) => ({
          ...one,
          topic: '/same',
          type: 'a/B',
          md5: `${one.id}`.repeat(32),
        })),
      }).bytes,
    'x.bag',
  ),
  messages_undecodable: withFile(() =>
    mcapFile(
      START_NS,
      [
        {
          topic: '/imu',
          schema: 'sensor_msgs/msg/Imu',
          schemaEncoding: 'ros2msg',
          definition: imuDefinition,
          encoding: 'cdr',
        },
      ],
      Array.from({ length: 30 }, (_, n) => ({ topic: '/imu', t: n * MS, data: new Uint8Array(7) })),
    ),
  ),
  channel_empty: withFile(() =>
    assembleMcap((file) => {
      file.writeChannel(channelOf(1, '/a'))
      file.writeChannel(channelOf(2, '/b'))
      file.writeMessage(messageAt(1, 0))
    }),
  ),
  channel_missing: async () => analyseBytes(await sound(), 'x.mcap', { expected: [{ topic: '/radar' }] }),
  out_of_order: withFile(() => defect((all) => all.toSpliced(50, 2, ...all.slice(50, 52).reverse()))),
  duplicate_timestamps: withFile(() =>
    defect((all) => all.flatMap((one, n) => (n % 50 === 9 ? [one, one] : [one]))),
  ),
  message_gap: withFile(() => defect((all) => all.filter((_, n) => n < 2000 || n > 2400))),
  messages_dropped: withFile(() => defect((all) => all.filter((_, n) => n % 100 !== 50))),
  rate_deviation: async () =>
    analyseBytes(await sound(), 'x.mcap', { expected: [{ topic: '/imu/data', rateHz: 200 }] }),
  late_start: withFile(() => defect((all) => all.slice(2000))),
  early_end: withFile(() => defect((all) => all.slice(0, 2000))),
  recorder_stall: withFile(() =>
    toMcap(sensors.map((sensor, n) => record(sensor, n).filter(({ t }) => t < 20e9 || t > 25e9))),
  ),
  timestamp_invalid: withFile(() =>
    defect((all) => all.map((one, n) => (n === 70 ? { ...one, t: -1.7e18 } : one))),
  ),
  clock_offset_estimated: withFile(sound),
  clock_drift: withFile(() => defect((all) => all.map((one) => ({ ...one, stamp: one.stamp * 0.9999 })))),
  clock_jump: withFile(() =>
    defect((all) => all.map((one, n) => (n > 3000 ? { ...one, stamp: one.stamp - 1e9 } : one))),
  ),
  clock_simulated: withFile(() => defect((all) => all.map((one) => ({ ...one, stamp: one.stamp - 1.7e18 })))),
  stamp_frozen: withFile(() => defect((all) => all.map((one) => ({ ...one, stamp: 0 })))),
  stamp_in_future: withFile(() => defect((all) => all.map((one) => ({ ...one, stamp: one.stamp + 5e8 })))),
  transforms_disconnected: withFile(() => treeOf(['map', 'base'], ['odom', 'wheel'])),
  transforms_cycle: withFile(() => treeOf(['a', 'b'], ['b', 'c'], ['c', 'a'])),
  calibration_missing: withFile(() => cameraWith((n) => 50 + n)),
  calibration_applied: async () => analyseBytes(await sound(), 'x.mcap', { calibrationVersion: 2 }),
  imu_saturated: withFile(() => imuWith((n) => (n % 4 === 0 ? 156.96 : 9.81))),
  imu_scale: withFile(() => imuWith(() => 1)),
  values_not_finite: withFile(() => imuWith((n) => (n > 50 ? Number.NaN : 9.81))),
  camera_frozen: withFile(() => cameraWith((n) => (n < 40 ? 50 + n : 99))),
  camera_black: withFile(() => cameraWith((n) => n % 2)),
  video_frame_mismatch: withFile(
    () => film({ tracks: [{ ...pictures(60), statedTicks: 120_000 }] }),
    'x.mp4',
  ),
  log_errors: withFile(() =>
    ros2('/rosout', 'rcl_interfaces/msg/Log', 'uint8 level\nstring msg\n', 100, (n) => ({
      level: n === 5 ? 40 : 20,
      msg: 'the motor is hot',
    })),
  ),
}

for (const [code, analyse] of Object.entries(recordings)) {
  test(`${code} is found where it is`, async () => {
    const { issues } = await analyse()
    assert.ok(
      issues.some((issue) => issue.code === code),
      `found were ${issues.map((issue) => `${issue.code}: ${issue.detail}`).join('; ')}`,
    )
  })
}

test('every code has its recording', () => {
  assert.deepEqual(Object.keys(issueCodes).sort(), [...Object.keys(recordings), ...ofTheService].sort())
})

test('a camera that works is neither black nor frozen, and black is told of pictures that are not compressed too', async () => {
  const codes = async (made: Promise<Uint8Array>) =>
    (await analyseBytes(await made, 'x.mcap')).issues.map(({ code }) => code)
  const always = ['calibration_missing', 'clock_offset_estimated']
  assert.deepEqual(await codes(cameraWith((n) => 50 + n)), always)
  assert.deepEqual(await codes(rawWith((n, at) => (n * 7 + at) % 256)), always)
  assert.deepEqual(await codes(rawWith((n) => n % 2)), ['camera_black', ...always])
})

test('the counter of a ROS 1 publisher proves what was lost, even without stamps on a grid', async () => {
  const definition = `Header header\nfloat64 x\n${line}MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n`
  const counted = (n: number) => {
    const data = new Uint8Array(24)
    const view = new DataView(data.buffer)
    view.setUint32(0, n, true)
    view.setUint32(4, 1_700_000_000 + n, true)
    view.setUint32(8, (n * 7919) % 1_000_000_000, true)
    return data
  }
  const messages = Array.from({ length: 200 }, (_, n) => n)
    .filter((n) => n % 40 !== 20)
    .map((n) => ({ conn: 0, sec: 1_700_000_000 + n, nano: (n * 7919) % 1_000_000_000, data: counted(n) }))
  const { bytes } = writeBag({
    connections: [{ id: 0, topic: '/pose', type: 'geometry_msgs/PoseStamped', definition }],
    chunks: [{ messages }],
  })
  const { issues } = await analyseBytes(bytes, 'x.bag')
  const dropped = issues.find(({ code }) => code === 'messages_dropped')
  assert.deepEqual([dropped?.channel, dropped?.count], ['pose', 5])
  assert.match(dropped?.detail ?? '', /counter/)
})
