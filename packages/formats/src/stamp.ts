import { findTimestamp, timestampAt } from './protobuf/timestamp.ts'
import type { ChannelInfo } from './recording.ts'

// The stamp that the sensor put into a message, read from its first bytes where the encoding allows it, without
// decoding the rest.

export type Stamp = {
  seconds: number
  nanoseconds: number
  /** A counter of the publisher. */
  sequence?: number
}

/** Unix time, or undefined where a message has none. */
export type ReadStamp = (payload: Uint8Array) => Stamp | undefined

export function stampReader({
  encoding,
  schema,
  schemaEncoding,
  schemaData,
}: ChannelInfo): ReadStamp | undefined {
  const text = () => Buffer.from(schemaData).toString('latin1')
  switch (encoding) {
    case 'ros1':
      return beginsWithHeader(text()) ? ros1Stamp : undefined
    case 'cdr':
      return beginsWithHeader(text()) || beginsWithIdlHeader(text(), schema) ? cdrStamp : undefined
    case 'json':
      return jsonStamp
    case 'protobuf': {
      const path = schemaEncoding === 'protobuf' ? findTimestamp(schemaData, schema) : undefined
      return path && ((payload) => timestampAt(payload, path))
    }
    default:
      return undefined
  }
}

/** The first field of the first definition, comments and constants aside. */
function beginsWithHeader(definition: string): boolean {
  const fields = definition
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '' && !line.includes('='))
  return /^(std_msgs\/(msg\/)?)?Header\s+\w+/.test(fields[0] ?? '')
}

function beginsWithIdlHeader(definition: string, schema: string): boolean {
  const name = schema.split('/').at(-1) ?? ''
  return new RegExp(
    `struct\\s+${name.replaceAll(/\W/g, '')}\\s*\\{\\s*(@[^\\n]*\\s*)*std_msgs::msg::Header\\s`,
  ).test(definition)
}

/** uint32 seq, uint32 secs, uint32 nsecs. */
function ros1Stamp(payload: Uint8Array): Stamp | undefined {
  if (payload.length < 12) return undefined
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return {
    sequence: view.getUint32(0, true),
    seconds: view.getUint32(4, true),
    nanoseconds: view.getUint32(8, true),
  }
}

/** Four bytes of encapsulation, whose second tells the byte order; int32 sec, uint32 nanosec. */
function cdrStamp(payload: Uint8Array): Stamp | undefined {
  if (payload.length < 12) return undefined
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const little = ((payload[1] ?? 0) & 1) === 1
  return { seconds: view.getInt32(4, little), nanoseconds: view.getUint32(8, little) }
}

/** Larger ones are pictures and clouds in base64, too long to be parsed for a stamp. */
const MAX_JSON_BYTES = 1 << 16

function jsonStamp(payload: Uint8Array): Stamp | undefined {
  if (payload.length > MAX_JSON_BYTES) return undefined
  try {
    const message: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    return fromJson(get(get(message, 'header'), 'stamp')) ?? fromJson(get(message, 'timestamp'))
  } catch {
    return undefined
  }
}

function fromJson(stamp: unknown): Stamp | undefined {
  const seconds = get(stamp, 'sec') ?? get(stamp, 'secs')
  const nanoseconds = get(stamp, 'nsec') ?? get(stamp, 'nanosec') ?? get(stamp, 'nsecs')
  if (!Number.isSafeInteger(seconds) || !Number.isSafeInteger(nanoseconds)) return undefined
  return { seconds: Number(seconds), nanoseconds: Number(nanoseconds) }
}

function get(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
