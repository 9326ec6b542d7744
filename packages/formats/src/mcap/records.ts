import { crc32 } from 'node:zlib'
import { cleanText } from '../bytes.ts'
import { MAX_SCHEMA_BYTES, MAX_TOPIC_CHARACTERS } from '../recording.ts'

// An MCAP file is a magic, records, and the magic again. A record is an opcode, the length of its body (64 bits) and
// the body. Parsers here take a body and return undefined where its fields do not fit into it; a body may be longer
// than its fields, for versions to come.

export const MAGIC = Uint8Array.of(0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a)

export const opcode = {
  header: 0x01,
  footer: 0x02,
  schema: 0x03,
  channel: 0x04,
  message: 0x05,
  chunk: 0x06,
  messageIndex: 0x07,
  chunkIndex: 0x08,
  attachment: 0x09,
  statistics: 0x0b,
  dataEnd: 0x0f,
} as const

/** The last opcode that the format defines; from 0x80 on they belong to the writer. */
export const LAST_OPCODE = 0x0f
export const FIRST_PRIVATE_OPCODE = 0x80

export const RECORD_HEADER_BYTES = 9
/** Channel, sequence, log time, publish time: what stands before the content of a message. */
export const MESSAGE_FIXED_BYTES = 22
/** What a message takes besides its content. */
export const MESSAGE_OVERHEAD_BYTES = RECORD_HEADER_BYTES + MESSAGE_FIXED_BYTES
/** A message index record without its entries, and one entry. */
export const MESSAGE_INDEX_OVERHEAD_BYTES = RECORD_HEADER_BYTES + 6
export const MESSAGE_INDEX_ENTRY_BYTES = 16
/** A chunk's fields before its records, with the longest name of a compression that is believed. */
export const CHUNK_HEADER_MAX_BYTES = 40 + 32
export const FOOTER_BYTES = RECORD_HEADER_BYTES + 20
export const DATA_END_BYTES = RECORD_HEADER_BYTES + 4

/** `mark` tells two definitions of one id apart. `data` lies in the body: copy it to keep it. */
export type Schema = { id: number; name: string; encoding: string; data: Uint8Array; mark: number }
export type Channel = {
  id: number
  schemaId: number
  topic: string
  encoding: string
  latched: boolean
  mark: number
}
export type ChunkHeader = {
  startNs: bigint
  endNs: bigint
  uncompressedBytes: number
  crc: number
  compression: string
  /** Where in the body the records begin, and how many bytes they take there. */
  recordsAt: number
  recordsBytes: number
}
export type ChunkIndex = {
  startNs: bigint
  endNs: bigint
  chunkAt: number
  chunkBytes: number
  /** How many channels have a message index behind the chunk, and where in the file each begins. */
  indexCount: number
  indexOffsets(): Map<number, number>
  indexBytes: number
  uncompressedBytes: number
}
export type Statistics = {
  messageCount: number
  chunkCount: number
  startNs: bigint
  endNs: bigint
  /** By channel id. */
  counts: Map<number, number>
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A 64-bit length or offset. Past 2^53 it is inexact, and larger than any file. */
export function lengthAt(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 4294967296 + view.getUint32(at, true)
}

export function parseSchema(body: Uint8Array): Schema | undefined {
  const fields = openFields(body)
  const id = fields.u16()
  const name = cleanText(fields.prefixed(), MAX_TOPIC_CHARACTERS)
  const encoding = cleanText(fields.prefixed(), MAX_TOPIC_CHARACTERS)
  const data = fields.prefixed()
  if (fields.broken()) return undefined
  const mark = crc32(body.subarray(0, fields.position()))
  return { id, name, encoding, data: data.subarray(0, MAX_SCHEMA_BYTES), mark }
}

export function parseChannel(body: Uint8Array): Channel | undefined {
  const fields = openFields(body)
  const id = fields.u16()
  const schemaId = fields.u16()
  const topic = cleanText(fields.prefixed(), MAX_TOPIC_CHARACTERS)
  const encoding = cleanText(fields.prefixed(), MAX_TOPIC_CHARACTERS)
  // Without the metadata: writers keep them in hash maps and repeat them in another order.
  const mark = crc32(body.subarray(0, fields.position()))
  const latched = isLatched(fields.prefixed())
  if (fields.broken()) return undefined
  return { id, schemaId, topic, encoding, latched, mark }
}

export function parseChunkHeader(body: Uint8Array): ChunkHeader | undefined {
  const fields = openFields(body)
  const header = {
    startNs: fields.ns(),
    endNs: fields.ns(),
    uncompressedBytes: fields.u64(),
    crc: fields.u32(),
    compression: cleanText(fields.prefixed(), MAX_TOPIC_CHARACTERS),
    recordsBytes: fields.u64(),
    recordsAt: fields.position(),
  }
  return fields.broken() ? undefined : header
}

export function parseChunkIndex(body: Uint8Array): ChunkIndex | undefined {
  const fields = openFields(body)
  const startNs = fields.ns()
  const endNs = fields.ns()
  const chunkAt = fields.u64()
  const chunkBytes = fields.u64()
  const offsets = fields.prefixed()
  const indexBytes = fields.u64()
  fields.prefixed() // the compression, which the chunk itself tells
  fields.u64() // the compressed size, likewise
  const uncompressedBytes = fields.u64()
  if (fields.broken()) return undefined
  const indexCount = Math.floor(offsets.length / COUNT_BYTES)
  const indexOffsets = () => parseCounts(offsets)
  return { startNs, endNs, chunkAt, chunkBytes, indexCount, indexOffsets, indexBytes, uncompressedBytes }
}

export function parseStatistics(body: Uint8Array): Statistics | undefined {
  const fields = openFields(body)
  const messageCount = fields.u64()
  fields.u16() // schemas
  fields.u32() // channels
  fields.u32() // attachments
  fields.u32() // metadata
  const statistics = {
    messageCount,
    chunkCount: fields.u32(),
    startNs: fields.ns(),
    endNs: fields.ns(),
    counts: parseCounts(fields.prefixed()),
  }
  return fields.broken() ? undefined : statistics
}

/** How much of an attachment its CRC covers, and what the CRC is; 0 where the writer made none. */
export function parseAttachmentCrc(body: Uint8Array): { covered: number; crc: number } | undefined {
  const fields = openFields(body)
  fields.ns() // log time
  fields.ns() // creation time
  fields.prefixed() // name
  fields.prefixed() // media type
  fields.skip(fields.u64())
  const covered = fields.position()
  const crc = fields.u32()
  return fields.broken() ? undefined : { covered, crc }
}

const COUNT_BYTES = 10

/** A map of channel ids to 64-bit numbers. */
function parseCounts(bytes: Uint8Array): Map<number, number> {
  const view = viewOf(bytes)
  const counts = new Map<number, number>()
  for (let at = 0; at + COUNT_BYTES <= bytes.length; at += COUNT_BYTES) {
    counts.set(view.getUint16(at, true), lengthAt(view, at + 2))
  }
  return counts
}

/** Recorders of ROS 1 note `latching`, those of ROS 2 the durability of every publisher. */
function isLatched(metadata: Uint8Array): boolean {
  const fields = openFields(metadata)
  while (fields.position() < metadata.length && !fields.broken()) {
    const key = cleanText(fields.prefixed(), MAX_TOPIC_CHARACTERS)
    const value = fields.prefixed()
    if (key === 'latching') return value.length === 1 && value[0] === 0x31
    if (key !== 'offered_qos_profiles') continue
    const text = Buffer.from(value.subarray(0, MAX_SCHEMA_BYTES)).toString('latin1')
    const durabilities = [...text.matchAll(/durability: *(\w+)/g)].map(([, word]) => word)
    return durabilities.length > 0 && durabilities.every((word) => word === '1' || word === 'transient_local')
  }
  return false
}

/** Fields one after the other. Past the end they are empty, and `broken` says so once for all of them. */
function openFields(bytes: Uint8Array) {
  const view = viewOf(bytes)
  let at = 0
  let broken = false
  const take = (length: number): number => {
    if (length > bytes.length - at) broken = true
    if (broken) return -1
    at += length
    return at - length
  }
  const u32 = (): number => {
    const from = take(4)
    return from < 0 ? 0 : view.getUint32(from, true)
  }
  return {
    position: () => at,
    broken: () => broken,
    skip: (length: number): void => void take(length),
    u32,
    u16(): number {
      const from = take(2)
      return from < 0 ? 0 : view.getUint16(from, true)
    },
    u64(): number {
      const from = take(8)
      return from < 0 ? 0 : lengthAt(view, from)
    },
    ns(): bigint {
      const from = take(8)
      return from < 0 ? 0n : view.getBigUint64(from, true)
    },
    /** Bytes behind their own 32-bit length. */
    prefixed(): Uint8Array {
      const length = u32()
      const from = take(length)
      return from < 0 ? new Uint8Array() : bytes.subarray(from, from + length)
    },
  }
}
