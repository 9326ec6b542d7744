import { csv } from './csv.ts'
import { dataflash } from './dataflash.ts'
import { type Detected, detectAmong } from './detect.ts'
import { gpx } from './gpx.ts'
import { hdf5 } from './hdf5.ts'
import { mcap } from './mcap.ts'
import { nmea } from './nmea.ts'
import { parquet } from './parquet.ts'
import { pcap } from './pcap.ts'
import type { Reader } from './recording.ts'
import { rosbag } from './rosbag.ts'
import { rosbag2 } from './rosbag2.ts'
import { ulog } from './ulog.ts'
import { video } from './video.ts'

export { type Decode, openDecoder } from './decode.ts'
export type { Detected } from './detect.ts'
export { jpegBrightness } from './jpeg.ts'
export * from './recording.ts'
export { type ReadStamp, type Stamp, stampReader } from './stamp.ts'

/** Those with a magic of their own come before those that are told by looking at text. */
export const readers: Reader[] = [
  mcap,
  rosbag,
  rosbag2,
  ulog,
  dataflash,
  pcap,
  video,
  parquet,
  hdf5,
  gpx,
  nmea,
  csv,
]

/** Which reader a file is for. */
export function detect(head: Uint8Array, filename: string): Detected {
  return detectAmong(readers, head, filename)
}
