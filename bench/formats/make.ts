import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { McapWriter } from '@mcap/core'
import { writeBag } from '../../packages/formats/test/support/bag-writer.ts'
import { writeDb3 } from '../../packages/formats/test/support/db3-writer.ts'
import { film, pictures } from '../../packages/formats/test/support/film.ts'
import { bytesOf, u64 } from '../../packages/formats/test/support/records.ts'
import * as log from '../../packages/formats/test/support/ulog-writer.ts'

// Recordings as robots make them, without a fault, the same on every machine.

const START_S = 1_767_600_000
const LATENCY_NS = 700_000
const MB = 2 ** 20

type Sensor = { topic: string; type: string; hz: number; bytes: number }

export const sensors: Sensor[] = [
  { topic: '/camera/front/compressed', type: 'sensor_msgs/msg/CompressedImage', hz: 15, bytes: 90_000 },
  { topic: '/camera/left/compressed', type: 'sensor_msgs/msg/CompressedImage', hz: 15, bytes: 80_000 },
  { topic: '/camera/rear/compressed', type: 'sensor_msgs/msg/CompressedImage', hz: 15, bytes: 70_000 },
  { topic: '/camera/info', type: 'sensor_msgs/msg/CameraInfo', hz: 15, bytes: 400 },
  { topic: '/lidar/points', type: 'sensor_msgs/msg/PointCloud2', hz: 10, bytes: 200_000 },
  { topic: '/imu/data', type: 'sensor_msgs/msg/Imu', hz: 200, bytes: 320 },
  { topic: '/joint_states', type: 'sensor_msgs/msg/JointState', hz: 100, bytes: 500 },
  { topic: '/odom', type: 'nav_msgs/msg/Odometry', hz: 50, bytes: 720 },
  { topic: '/gps/fix', type: 'sensor_msgs/msg/NavSatFix', hz: 5, bytes: 120 },
  { topic: '/cmd_vel', type: 'geometry_msgs/msg/TwistStamped', hz: 20, bytes: 60 },
  { topic: '/battery', type: 'sensor_msgs/msg/BatteryState', hz: 2, bytes: 100 },
  { topic: '/diagnostics', type: 'diagnostic_msgs/msg/DiagnosticArray', hz: 1, bytes: 900 },
]
const line = `${'='.repeat(80)}\n`
const definition = `std_msgs/Header header\nuint8[] data\n${line}MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n${line}MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n`

type Recorded = { sensor: number; ns: number; data: Uint8Array }

/** Until so many bytes were recorded. What they hold shrinks by a quarter, as pictures and clouds do. */
function* recorded(totalBytes: number): Generator<Recorded> {
  const noise = pool()
  const due = sensors.map(() => 0)
  let from = 0
  for (let bytes = 0; bytes < totalBytes; ) {
    const sensor = due.indexOf(Math.min(...due))
    const { hz, bytes: size } = sensors[sensor] ?? { hz: 1, bytes: 1 }
    const stampNs = due[sensor] ?? 0
    from = (from + 7_654_321) % (noise.length - size)
    const data = message(stampNs, noise.subarray(from, from + size))
    yield { sensor, ns: Math.round(stampNs + LATENCY_NS + (noise[from] ?? 0) * 1000), data }
    bytes += data.length
    due[sensor] = stampNs + 1e9 / hz
  }
}

function pool(): Uint8Array {
  const bytes = new Uint8Array(64 * MB)
  let state = 1
  for (let at = 0; at < bytes.length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[at] = at % 4096 < 1024 ? 0 : state >>> 24
  }
  return bytes
}

/** CDR: a header with its stamp, then the bytes. */
function message(stampNs: number, content: Uint8Array): Uint8Array {
  const data = new Uint8Array(24 + content.length)
  const view = new DataView(data.buffer)
  data[1] = 1
  view.setInt32(4, START_S + Math.floor(stampNs / 1e9), true)
  view.setUint32(8, Math.round(stampNs % 1e9), true)
  view.setUint32(12, 4, true)
  data.set([0x78, 0x78, 0x78, 0], 16)
  view.setUint32(20, content.length, true)
  data.set(content, 24)
  return data
}

export async function makeMcap(folder: string, totalBytes: number): Promise<string> {
  const path = join(folder, 'drive.mcap')
  const file = createWriteStream(path)
  let position = 0n
  const writer = new McapWriter({
    writable: {
      position: () => position,
      async write(part) {
        position += BigInt(part.length)
        if (!file.write(part.slice())) await once(file, 'drain')
      },
    },
    chunkSize: MB,
    compressChunk: (data) => ({
      compression: 'zstd',
      compressedData: zstdCompressSync(data, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
    }),
  })
  await writer.start({ profile: 'ros2', library: 'tapedeck bench' })
  const ids: number[] = []
  for (const { topic, type } of sensors) {
    const data = new TextEncoder().encode(definition)
    const schemaId = await writer.registerSchema({ name: type, encoding: 'ros2msg', data })
    ids.push(await writer.registerChannel({ schemaId, topic, messageEncoding: 'cdr', metadata: new Map() }))
  }
  let sequence = 0
  for (const { sensor, ns, data } of recorded(totalBytes)) {
    const logTime = BigInt(START_S) * 1_000_000_000n + BigInt(ns)
    const channelId = ids[sensor] ?? 0
    await writer.addMessage({ channelId, sequence: sequence++, logTime, publishTime: logTime, data })
  }
  await writer.end()
  await new Promise((resolve) => file.end(resolve))
  return path
}

export async function makeBag(folder: string, totalBytes: number): Promise<string> {
  const path = join(folder, 'drive.bag')
  const messages = [...recorded(totalBytes)].map(({ sensor, ns, data }) => ({
    conn: sensor,
    sec: START_S + Math.floor(ns / 1e9),
    nano: ns % 1e9,
    data,
  }))
  const chunks = Array.from({ length: Math.ceil(messages.length / 50) }, (_, n) => ({
    messages: messages.slice(n * 50, n * 50 + 50),
  }))
  const connections = sensors.map(({ topic, type }, id) => ({
    id,
    topic,
    type,
    definition: 'uint8[] data\n',
  }))
  await writeFile(path, writeBag({ connections, chunks }).bytes)
  return path
}

export async function makeDb3(folder: string, totalBytes: number): Promise<string> {
  const path = join(folder, 'drive.db3')
  const topics = sensors.map(({ topic, type }) => ({ name: topic, type }))
  const types = new Set(sensors.map(({ type }) => type))
  const definitions = [...types].map((type) => ({ type, encoding: 'ros2msg', text: definition }))
  const rows = [...recorded(totalBytes)].map(({ sensor, ns, data }) => ({
    topic: sensor + 1,
    ns: BigInt(START_S) * 1_000_000_000n + BigInt(ns),
    data,
  }))
  await writeFile(path, writeDb3({ topics, rows, definitions }))
  return path
}

export async function makeUlog(folder: string, totalBytes: number): Promise<string> {
  const path = join(folder, 'flight.ulg')
  const content = new Uint8Array(120).fill(7)
  const count = Math.floor(totalBytes / 133)
  const begin = bytesOf(
    log.header(0),
    log.flags(),
    ...Array.from({ length: 10 }, (_, id) => log.format(`topic_${id}:uint64_t timestamp;uint8_t[120] data;`)),
    ...Array.from({ length: 10 }, (_, id) => log.subscribe(id, `topic_${id}`)),
  )
  const records = Array.from({ length: count }, (_, n) => log.data(n % 10, u64(n * 500), content))
  await writeFile(path, Buffer.concat([begin, ...records]))
  return path
}

export async function makeFilm(folder: string, frames: number): Promise<string> {
  const path = join(folder, 'film.mp4')
  await writeFile(path, film({ tracks: [pictures(frames, { bytes: 8000 })] }))
  return path
}
