import { mcapFile, type SampleMessage } from '../../../server/src/sandbox/mcap-writer.ts'

// A drive of a robot that never was: cameras, laser, inertial sensor and the rest, each at its rate, with what goes
// wrong on real ones.

type Sensor = {
  topic: string
  schema: string
  hz: number
  /** Seconds in which it is silent. */
  silent?: [from: number, to: number][]
  /** Its clock beside that of the recorder. */
  offsetMs?: number
  jitterMs?: number
}

const START_NS = 1_772_443_800_000_000_000n

export const sensors: Sensor[] = [
  {
    topic: '/camera/front/image_raw',
    schema: 'sensor_msgs/Image',
    hz: 15,
    jitterMs: 4,
    silent: [[31, 35.5]],
  },
  { topic: '/camera/rear/image_raw', schema: 'sensor_msgs/Image', hz: 15, jitterMs: 4 },
  { topic: '/camera/front/camera_info', schema: 'sensor_msgs/CameraInfo', hz: 15, jitterMs: 2 },
  { topic: '/lidar/top/points', schema: 'sensor_msgs/PointCloud2', hz: 10, jitterMs: 3 },
  { topic: '/scan', schema: 'sensor_msgs/LaserScan', hz: 20, silent: [[58, 60.2]] },
  { topic: '/imu/data', schema: 'sensor_msgs/Imu', hz: 50, offsetMs: -38 },
  { topic: '/gps/fix', schema: 'sensor_msgs/NavSatFix', hz: 5 },
  { topic: '/odom', schema: 'nav_msgs/Odometry', hz: 25 },
  { topic: '/joint_states', schema: 'sensor_msgs/JointState', hz: 25, jitterMs: 6 },
  {
    topic: '/cmd_vel',
    schema: 'geometry_msgs/Twist',
    hz: 10,
    silent: [
      [0, 8],
      [44, 71],
    ],
  },
  { topic: '/battery', schema: 'sensor_msgs/BatteryState', hz: 1 },
  { topic: '/diagnostics', schema: 'diagnostic_msgs/DiagnosticArray', hz: 1 },
]

export function makeDrive({ seconds = 20, only = sensors, startMs = 0 } = {}): Uint8Array<ArrayBuffer> {
  return mcapFile(only.flatMap((sensor) => messagesOf(sensor, seconds, startMs)))
}

function messagesOf(sensor: Sensor, seconds: number, startMs: number): SampleMessage[] {
  const { topic, schema, hz, silent = [], offsetMs = 0, jitterMs = 0 } = sensor
  const found: SampleMessage[] = []
  for (let index = 0; index < seconds * hz; index++) {
    const second = index / hz
    if (silent.some(([from, to]) => second > from && second < to)) continue
    const wobbleMs = Math.sin(index * 12.9898) * jitterMs
    const ms = second * 1000 + wobbleMs + startMs
    const timeNs = START_NS + BigInt(Math.round((ms + jitterMs) * 1e6))
    found.push({
      topic,
      schema,
      timeNs,
      message: { header: { stamp: stampAt(timeNs, offsetMs), frame_id: 'base' } },
    })
  }
  return found
}

function stampAt(timeNs: bigint, offsetMs: number): { sec: number; nanosec: number } {
  const stamp = timeNs + BigInt(offsetMs) * 1_000_000n
  return { sec: Number(stamp / 1_000_000_000n), nanosec: Number(stamp % 1_000_000_000n) }
}
