import type { BagOptions, Chunk, Connection, Message } from './bag-writer.ts'

// A drive of three seconds for the tests of bags: a map that is sent once, an IMU at 100 Hz, a camera at 10 Hz.

const BEGIN_S = 1_700_000_000

export const connections: Connection[] = [
  { id: 0, topic: '/imu', type: 'sensor_msgs/Imu', definition: 'Header header\nfloat64 x\n' },
  { id: 1, topic: '/camera', type: 'sensor_msgs/Image', definition: 'Header header\nuint8[] data\n' },
  { id: 2, topic: '/map', type: 'nav_msgs/OccupancyGrid', definition: 'int8[] data\n', latching: true },
]

export function messages(seconds = 3): Message[] {
  const map = { conn: 2, ...after(1), data: bytes(500, 2) }
  const imu = Array.from({ length: seconds * 100 }, (_, n) => ({
    conn: 0,
    ...after(n * 10),
    data: bytes(20, n),
  }))
  const camera = Array.from({ length: seconds * 10 }, (_, n) => ({
    conn: 1,
    ...after(n * 100 + 3),
    data: bytes(700 + n, n),
  }))
  return [map, ...imu, ...camera].sort((a, b) => a.sec - b.sec || a.nano - b.nano)
}

/** In chunks of so many messages. */
export function drive({ perChunk = 110, seconds = 3, ...options }: DriveOptions = {}): BagOptions {
  const all = messages(seconds)
  const { compression, pack, ...rest } = options
  const chunks: Chunk[] = []
  for (let at = 0; at < all.length; at += perChunk) {
    const packing = pack ? { compression: compression ?? 'none', pack } : {}
    chunks.push({ messages: all.slice(at, at + perChunk), ...packing })
  }
  return { connections, chunks, ...rest }
}

export type DriveOptions = Partial<BagOptions> &
  Pick<Chunk, 'compression' | 'pack'> & { perChunk?: number; seconds?: number }

/** Milliseconds, and a few nanoseconds that must not be lost. */
function after(ms: number): { sec: number; nano: number } {
  return { sec: BEGIN_S + Math.floor(ms / 1000), nano: (ms % 1000) * 1_000_000 + 7 }
}

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, n) => (n * 31 + seed * 17) & 0xff)
}
