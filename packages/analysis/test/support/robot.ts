import { seeded } from '../../../formats/test/support/damage.ts'
import { mcapFile } from './mcap-file.ts'

// A robot whose every message is known, and which can be made to fail in known ways. It records what a sound one does:
// stamps on a grid, recorded a little later, never at quite the same distance.

export const START_NS = 1_767_600_000_000_000_000n
const S = 1e9
const MS = 1e6

export type Message = {
  topic: string
  /** Nanoseconds from the start. */
  t: number
  stamp: number
}

export type Sensor = { topic: string; schema: string; periodNs: number; latencyNs: number; jitterNs: number }

export const imu: Sensor = {
  topic: '/imu/data',
  schema: 'sensor_msgs/msg/Imu',
  periodNs: 10 * MS,
  latencyNs: 0.4 * MS,
  jitterNs: 0.5 * MS,
}
export const lidar: Sensor = {
  topic: '/lidar/points',
  schema: 'sensor_msgs/msg/PointCloud2',
  periodNs: 100 * MS,
  latencyNs: 0.6 * MS,
  jitterNs: 3 * MS,
}
export const odometry: Sensor = {
  topic: '/odom',
  schema: 'nav_msgs/msg/Odometry',
  periodNs: 50 * MS,
  latencyNs: 0.3 * MS,
  jitterNs: 1 * MS,
}
export const sensors = [imu, lidar, odometry]
/** Under our names. */
export const nameOf = new Map([
  [imu, 'imu'],
  [lidar, 'lidar'],
  [odometry, 'odometry'],
])
export const LENGTH_NS = 80 * S

/** What a sound sensor leaves behind. Most messages come soon, some late: delay has a long tail. */
export function record({ topic, periodNs, latencyNs, jitterNs }: Sensor, seed: number): Message[] {
  const random = seeded(seed)
  return Array.from({ length: Math.floor(LENGTH_NS / periodNs) }, (_, n) => {
    const stamp = n * periodNs
    return { topic, stamp, t: Math.round(stamp + latencyNs + jitterNs * random() ** 3) }
  })
}

const definition = [
  'std_msgs/Header header\nfloat64 value\n',
  'MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n',
  'MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n',
].join(`${'='.repeat(80)}\n`)

/** The recordings of all sensors in one file, each in the order given, by the time of what was before. */
export function toMcap(recordings: Message[][]): Promise<Uint8Array> {
  const channels = sensors.map(({ topic, schema }) => ({
    topic,
    schema,
    schemaEncoding: 'ros2msg',
    definition,
    encoding: 'cdr',
  }))
  const messages = merged(recordings).map(({ topic, t, stamp }) => ({
    topic,
    t,
    data: toCdr(START_NS + BigInt(Math.round(stamp))),
  }))
  return mcapFile(START_NS, channels, messages)
}

/** In the order of time, but for what a sensor itself has out of order. */
function merged(recordings: Message[][]): Message[] {
  return recordings
    .flatMap((messages) => {
      let latest = Number.NEGATIVE_INFINITY
      return messages.map((message) => {
        latest = Math.max(latest, message.t)
        return { message, at: latest }
      })
    })
    .sort((a, b) => a.at - b.at)
    .map(({ message }) => message)
}

function toCdr(stampNs: bigint): Uint8Array {
  const bytes = new Uint8Array(28)
  const view = new DataView(bytes.buffer)
  bytes[1] = 1
  view.setInt32(4, Number(stampNs / 1_000_000_000n), true)
  view.setUint32(8, Number(stampNs % 1_000_000_000n), true)
  view.setUint32(12, 4, true)
  bytes.set(Buffer.from('abc\0'), 16)
  view.setFloat64(20, 1, true)
  return bytes
}
