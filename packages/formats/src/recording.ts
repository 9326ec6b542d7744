// The face between bytes and knowledge. A reader goes over a recording once at most and tells a visitor what it
// meets; it keeps nothing that grows with the file. Damage is told as a finding and reading goes on behind it.
// Only faults of our own are thrown.

/** The two methods that every reader is written for; the file may lie in an object store. */
export type Source = {
  size(): number
  /** Exactly `length` bytes. Asking past the end is a fault of the reader. */
  read(offset: number, length: number): Promise<Uint8Array>
}

export const formats = [
  'mcap',
  'rosbag',
  'rosbag2',
  'ulog',
  'dataflash',
  'video',
  'parquet',
  'hdf5',
  'csv',
  'nmea',
  'gpx',
  'pcap',
] as const
export type Format = (typeof formats)[number]

export type ChannelInfo = {
  /** As the recording calls it: topic, message name, track, column group. */
  topic: string
  /** Name of the message type; empty where there is none. */
  schema: string
  /** Of the schema's definition: ros1msg, ros2msg, ros2idl, protobuf, jsonschema, flatbuffer, or empty. */
  schemaEncoding: string
  /** The definition itself, at most `MAX_SCHEMA_BYTES` of it. */
  schemaData: Uint8Array
  /** Of the messages: ros1, cdr, protobuf, json, h264, pcm, ulog … or empty. */
  encoding: string
  /** What the file says the rate is (frames of a video, `fps` of a dataset), if it does. */
  declaredRateHz?: number
  /** Times are computed from the rate, so gaps in them cannot be seen. */
  timesComputed?: boolean
  /** Published once and kept by the recorder (latched, transient local): its times say nothing. */
  latched?: boolean
}

/** Damage in the structure of a file, as a reader can know it. */
export const structuralCodes = [
  'recording_empty',
  'recording_truncated',
  'index_missing',
  'index_mismatch',
  'chunk_corrupt',
  'schema_missing',
  'schema_conflict',
  'messages_undecodable',
  'messages_dropped',
  'timestamp_invalid',
  'video_frame_mismatch',
] as const
export type StructuralCode = (typeof structuralCodes)[number]

export type Finding = {
  code: StructuralCode
  /** What was found, where in the file, what was expected, and what is lost by it. */
  detail: string
  /** The channel it concerns, as `Visitor.channel` numbered it. */
  channel?: number
  /** First occurrence, in nanoseconds from the origin. */
  t?: number
  count?: number
  value?: number
  threshold?: number
}

/**
 * What a reader tells. Times are nanoseconds from the origin, as numbers: exact for 104 days on either side of it,
 * and so for every honest recording.
 */
export type Visitor = {
  /** Said once, before the first message: the time that all others are counted from. */
  origin(ns: bigint): void
  /** A channel, said once, before its first message. Returns its number, from 0. */
  channel(info: ChannelInfo): number
  /** One message, in the order of the file. */
  message(channel: number, t: number, bytes: number): void
  /** The content of a message that was just told, where the reader has it at hand. Valid during the call only. */
  content(channel: number, t: number, payload: Uint8Array): void
  /** Something that the recording itself marks: an event, a new episode, a change of mode. */
  marker(t: number, label: string): void
  finding(finding: Finding): void
  /** From 0 to 1. */
  progress(fraction: number): void
}

/** What the origin means. */
export type Timebase =
  /** Unix time. */
  | { kind: 'unix' }
  /** Counted from boot; `originUnixNs` where the recording tells (by GPS, for example). */
  | { kind: 'boot'; originUnixNs: bigint | undefined }
  /** Counted from the beginning of the recording; `originUnixNs` where the file says when that was. */
  | { kind: 'relative'; originUnixNs: bigint | undefined }

export type ScanOptions = {
  signal: AbortSignal
  /** An empty folder of the scan's own, for libraries that need a file. Removed by the caller. */
  tempDir: string
  /** Read everything and verify every checksum, instead of index and samples. */
  full: boolean
  /** False: nobody looks at contents, and nothing is read for them where an index tells the messages. */
  contents?: boolean
}

export type Reader = {
  format: Format
  /** Whether the file is of this format, by its first bytes (up to `HEAD_BYTES`). */
  recognises(head: Uint8Array): boolean
  scan(source: Source, visitor: Visitor, options: ScanOptions): Promise<Timebase>
}

export const HEAD_BYTES = 4096

// A file may say anything about itself; these are the most that is believed.
export const MAX_CHANNELS = 10_000
export const MAX_SCHEMAS = 10_000
export const MAX_SCHEMA_BYTES = 1 << 20
/** Of one piece that must be in memory as a whole: a chunk, uncompressed or not. */
export const MAX_CHUNK_BYTES = 256 * 2 ** 20
export const MAX_TOPIC_CHARACTERS = 255
