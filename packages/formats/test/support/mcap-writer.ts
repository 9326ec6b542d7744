import { zstdCompressSync } from 'node:zlib'
import { McapRecordBuilder, McapWriter, type McapWriterOptions } from '@mcap/core'
import { seeded } from './damage.ts'

// Small MCAP files of every shape, always the same, with a list of what is in them.

export const ORIGIN_NS = 1_700_000_000_123_456_789n

/** One message as it was written. */
export type Written = { topic: string; t: number; bytes: number }

export type Shape = {
  compression?: 'none' | 'zstd' | 'lz4'
  messages?: number
  chunkBytes?: number
  /** What the writer is to leave out, by the names of its options. */
  without?: (keyof McapWriterOptions)[]
  attachment?: Uint8Array
  /** Channels without a message, each with a schema of a kilobyte. */
  schemas?: number
}

export const noSummary: (keyof McapWriterOptions)[] = [
  'repeatChannels',
  'repeatSchemas',
  'useStatistics',
  'useChunkIndex',
  'useSummaryOffsets',
  'useAttachmentIndex',
  'useMetadataIndex',
]

type Topic = { topic: string; schema: string; schemaEncoding: string; encoding: string; bytes: number }

const imu = {
  topic: '/imu',
  schema: 'sensor_msgs/msg/Imu',
  schemaEncoding: 'ros2msg',
  encoding: 'cdr',
  bytes: 48,
}
const camera = {
  topic: '/camera',
  schema: 'Image',
  schemaEncoding: 'protobuf',
  encoding: 'protobuf',
  bytes: 700,
}
/** Without a schema. */
const note = { topic: '/note', schema: '', schemaEncoding: '', encoding: 'json', bytes: 20 }

export async function writeMcap(shape: Shape = {}): Promise<{ bytes: Uint8Array; written: Written[] }> {
  const {
    compression = 'zstd',
    messages = 200,
    chunkBytes = 4096,
    without = [],
    attachment,
    schemas = 0,
  } = shape
  const parts: Uint8Array[] = []
  let length = 0
  const writer = new McapWriter({
    writable: {
      position: () => BigInt(length),
      async write(part) {
        parts.push(part.slice())
        length += part.length
      },
    },
    chunkSize: chunkBytes,
    compressChunk: (data) => ({
      compression: compression === 'none' ? '' : compression,
      compressedData: compressors[compression](data),
    }),
    ...Object.fromEntries(without.map((option) => [option, false])),
  })
  await writer.start({ profile: 'test', library: 'tapedeck' })
  const ids = new Map<Topic, number>()
  for (const topic of [imu, camera, note]) ids.set(topic, await register(writer, topic))
  for (let n = 0; n < schemas; n++)
    await register(writer, { ...imu, topic: `/${n}`, schema: `${n}`.padEnd(1000) })
  const random = seeded(messages)
  const written: Written[] = []
  for (let sequence = 0; sequence < messages; sequence++) {
    const topic = sequence % 10 === 0 ? camera : sequence % 7 === 0 ? note : imu
    const t = sequence * 10_000_000 + (sequence > 0 ? Math.floor(random() * 1000) : 0)
    const data = Uint8Array.from({ length: topic.bytes }, () => random() * 64)
    const logTime = ORIGIN_NS + BigInt(t)
    await writer.addMessage({ channelId: ids.get(topic) ?? 0, sequence, logTime, publishTime: logTime, data })
    written.push({ topic: topic.topic, t, bytes: topic.bytes })
    if (sequence === 100 && attachment) await attach(writer, attachment)
  }
  await writer.end()
  return { bytes: Buffer.concat(parts), written }
}

async function register(
  writer: McapWriter,
  { topic, schema, schemaEncoding, encoding }: Topic,
): Promise<number> {
  const data = Buffer.from(`definition of ${schema}`)
  const schemaId = schema ? await writer.registerSchema({ name: schema, encoding: schemaEncoding, data }) : 0
  return writer.registerChannel({ schemaId, topic, messageEncoding: encoding, metadata: new Map() })
}

async function attach(writer: McapWriter, data: Uint8Array): Promise<void> {
  const logTime = ORIGIN_NS
  await writer.addAttachment({ logTime, createTime: logTime, name: 'map.png', mediaType: 'image/png', data })
  await writer.addMetadata({ name: 'robot', metadata: new Map([['serial', 'r2']]) })
}

const compressors = {
  none: (data: Uint8Array) => data,
  zstd: (data: Uint8Array) => zstdCompressSync(data),
  lz4: lz4Frame,
}

/** One LZ4 frame of blocks that are stored as they are; the header's checksum is the same for all such. */
export function lz4Frame(data: Uint8Array): Uint8Array {
  const header = Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73)
  const length = Buffer.alloc(4)
  length.writeUInt32LE((data.length | 0x80000000) >>> 0)
  return Buffer.concat([header, length, data, Buffer.alloc(4)])
}

/** A file put together by hand: around the records only the magic, a header, and a footer that knows no summary. */
export function assembleMcap(build: (records: McapRecordBuilder) => void): Uint8Array {
  const file = new McapRecordBuilder()
  file.writeMagic()
  file.writeHeader({ profile: '', library: 'by hand' })
  build(file)
  file.writeDataEnd({ dataSectionCrc: 0 })
  file.writeFooter({ summaryStart: 0n, summaryOffsetStart: 0n, summaryCrc: 0 })
  file.writeMagic()
  return file.buffer.slice()
}

/** A chunk put together by hand, for `writeChunk`. Without CRC, so that anything may be in it. */
export function assembleChunk(build: (records: McapRecordBuilder) => void) {
  const chunk = new McapRecordBuilder()
  build(chunk)
  return {
    messageStartTime: ORIGIN_NS,
    messageEndTime: ORIGIN_NS + 1_000_000_000n,
    uncompressedSize: BigInt(chunk.length),
    uncompressedCrc: 0,
    compression: '',
    records: chunk.buffer.slice(),
  }
}

export function messageAt(channelId: number, t: number | bigint, data = new Uint8Array(8)) {
  const logTime = ORIGIN_NS + BigInt(t)
  return { channelId, sequence: 0, logTime, publishTime: logTime, data }
}

export function channelOf(id: number, topic: string, schemaId = 0, metadata = new Map<string, string>()) {
  return { id, topic, schemaId, messageEncoding: 'json', metadata }
}
