import type { Db3Options, Definition, Row, Topic } from './db3-writer.ts'

// A journey of some seconds for the tests of ROS 2 bags: an IMU at 100 Hz, a camera at 10 Hz whose images need pages
// of their own, a map that is kept for those who come late.

export const BEGIN_NS = 1_700_000_000_123_456_789n

export const topics: Topic[] = [
  { name: '/imu', type: 'sensor_msgs/msg/Imu', qos: qos('2') },
  { name: '/camera', type: 'sensor_msgs/msg/Image', qos: qos('volatile') },
  { name: '/map', type: 'nav_msgs/msg/OccupancyGrid', qos: qos('transient_local') },
]

export const definitions: Definition[] = [
  { type: 'sensor_msgs/msg/Imu', encoding: 'ros2msg', text: 'std_msgs/Header header\nfloat64 x\n' },
  { type: 'sensor_msgs/msg/Image', encoding: 'ros2msg', text: 'std_msgs/Header header\nuint8[] data\n' },
  { type: 'nav_msgs/msg/OccupancyGrid', encoding: 'ros2idl', text: 'module nav_msgs {};\n' },
]

export function rows(seconds = 3): Row[] {
  const map = { topic: 3, ns: after(1), data: content(500, 2) }
  const imu = Array.from({ length: seconds * 100 }, (_, n) => ({
    topic: 1,
    ns: after(n * 10),
    data: content(40, n),
  }))
  const camera = Array.from({ length: seconds * 10 }, (_, n) => ({
    topic: 2,
    ns: after(n * 100 + 3),
    data: content(9000 + n, n),
  }))
  return [map, ...imu, ...camera].sort((a, b) => Number(a.ns - b.ns))
}

export function journey(options: Partial<Db3Options> = {}): Db3Options {
  return { topics, definitions, rows: rows(), ...options }
}

function after(ms: number): bigint {
  return BEGIN_NS + BigInt(ms) * 1_000_000n
}

/** Begins as CDR of this machine's byte order does. */
function content(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, n) => (n < 4 ? (n === 1 ? 1 : 0) : (n * 31 + seed * 17) & 0xff))
}

export function qos(...durabilities: string[]): string {
  return durabilities
    .map((durability) => `- history: 3\n  depth: 0\n  reliability: 1\n  durability: ${durability}\n`)
    .join('')
}
