import { mcapFile, type SampleMessage } from './mcap-writer.ts'

// The recordings that every sandbox holds: small, made by us, the same every time, each showing something else.

export type Sample = {
  filename: string
  site: string
  device: string
  notes: string
  bytes: Uint8Array<ArrayBuffer>
}

/** 2026-01-05T08:00:00Z */
const START_NS = 1_767_600_000_000_000_000n
const MS = 1_000_000n
const LENGTH_MS = 70_000

export function makeSamples(): Sample[] {
  return [
    {
      filename: 'healthy.mcap',
      site: 'sample hall',
      device: 'sample-amr',
      notes: 'Nothing is wrong with this one: inertial sensor, position and pose at steady rates.',
      bytes: mcapFile([...imu(), ...gps(), ...pose()]),
    },
    {
      filename: 'gap-and-offset.mcap',
      site: 'sample hall',
      device: 'sample-amr',
      notes: 'The inertial sensor is silent for three seconds, and its clock is 40 ms behind.',
      bytes: mcapFile([
        ...imu({ silentFromMs: 20_000, silentToMs: 23_000, offsetMs: -40 }),
        ...gps(),
        ...pose(),
      ]),
    },
    {
      filename: 'frozen-stamps.mcap',
      site: 'sample yard',
      device: 'sample-arm',
      notes: 'The stamps of the pose never move.',
      bytes: mcapFile([...imu(), ...pose({ frozen: true })]),
    },
    {
      filename: 'truncated.mcap',
      site: 'sample yard',
      device: 'sample-arm',
      notes: 'The recorder lost power: the end of the file is missing.',
      bytes: mcapFile([...imu(), ...gps()]).slice(0, -40_000),
    },
    {
      filename: 'not-a-recording.bin',
      site: 'sample yard',
      device: 'sample-arm',
      notes: 'No reader knows this file: processing fails.',
      bytes: new TextEncoder().encode('This is not a recording.\n'.repeat(100)),
    },
  ]
}

type ImuFault = { silentFromMs?: number; silentToMs?: number; offsetMs?: number }

function imu({ silentFromMs = 0, silentToMs = 0, offsetMs = 0 }: ImuFault = {}): SampleMessage[] {
  return every(20, (ms) => {
    if (ms > silentFromMs && ms < silentToMs) return undefined
    const turn = Math.sin(ms / 3000)
    return {
      topic: '/imu/data',
      schema: 'sensor_msgs/Imu',
      message: {
        header: { stamp: stampAt(ms + offsetMs), frame_id: 'imu_link' },
        angular_velocity: { x: 0.01, y: -0.02, z: round(0.3 * turn) },
        linear_acceleration: { x: round(0.2 * turn), y: 0.05, z: 9.81 },
      },
    }
  })
}

function gps(): SampleMessage[] {
  return every(200, (ms) => ({
    topic: '/gps/fix',
    schema: 'sensor_msgs/NavSatFix',
    message: {
      header: { stamp: stampAt(ms), frame_id: 'gps' },
      latitude: round(52.52 + ms / 1e8),
      longitude: 13.405,
      altitude: 34.5,
    },
  }))
}

function pose({ frozen = false } = {}): SampleMessage[] {
  return every(100, (ms) => ({
    topic: '/robot/pose',
    schema: 'geometry_msgs/PoseStamped',
    message: {
      header: { stamp: stampAt(frozen ? 0 : ms), frame_id: 'map' },
      pose: { position: { x: round(ms / 10_000), y: 0, z: 0 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
    },
  }))
}

type Made = Omit<SampleMessage, 'timeNs'> | undefined

/** One message every so many milliseconds, recorded two milliseconds after its stamp. */
function every(periodMs: number, make: (ms: number) => Made): SampleMessage[] {
  const messages: SampleMessage[] = []
  for (let ms = 0; ms <= LENGTH_MS; ms += periodMs) {
    const made = make(ms)
    if (made) messages.push({ ...made, timeNs: START_NS + BigInt(ms + 2) * MS })
  }
  return messages
}

function stampAt(ms: number): { sec: number; nsec: number } {
  const ns = START_NS + BigInt(ms) * MS
  return { sec: Number(ns / 1_000_000_000n), nsec: Number(ns % 1_000_000_000n) }
}

function round(value: number): number {
  return Math.round(value * 1e9) / 1e9
}
