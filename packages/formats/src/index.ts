import { type Detected, detectAmong, type Shelved } from './detect.ts'

export { type Decode, openDecoder } from './decode.ts'
export type { Detected } from './detect.ts'
export { jpegBrightness } from './jpeg.ts'
export * from './recording.ts'
export { type ReadStamp, type Stamp, stampReader } from './stamp.ts'

/** Those with a magic of their own come before those that are told by looking at text. */
export const shelf: Shelved[] = [
  { extensions: ['.mcap'], load: async () => (await import('./mcap.ts')).mcap },
  { extensions: ['.bag'], load: async () => (await import('./rosbag.ts')).rosbag },
  { extensions: ['.db3', '.db3.zstd'], load: async () => (await import('./rosbag2.ts')).rosbag2 },
  { extensions: ['.ulg', '.ulog'], load: async () => (await import('./ulog.ts')).ulog },
  { extensions: ['.bin'], load: async () => (await import('./dataflash.ts')).dataflash },
  { extensions: ['.pcap', '.pcapng', '.cap'], load: async () => (await import('./pcap.ts')).pcap },
  {
    extensions: ['.mp4', '.m4v', '.m4a', '.mov', '.qt', '.3gp', '.mkv', '.mka', '.webm', '.wav'],
    load: async () => (await import('./video.ts')).video,
  },
  { extensions: ['.parquet'], load: async () => (await import('./parquet.ts')).parquet },
  { extensions: ['.hdf5', '.h5'], load: async () => (await import('./hdf5.ts')).hdf5 },
  { extensions: ['.gpx'], load: async () => (await import('./gpx.ts')).gpx },
  { extensions: ['.nmea', '.nma', '.ubx', '.log'], load: async () => (await import('./nmea.ts')).nmea },
  { extensions: ['.csv', '.tsv', '.txt'], load: async () => (await import('./csv.ts')).csv },
]

/** Which reader a file is for. */
export function detect(head: Uint8Array, filename: string): Promise<Detected> {
  return detectAmong(shelf, head, filename)
}
