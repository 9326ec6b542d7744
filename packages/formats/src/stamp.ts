import type { ChannelInfo } from './recording.ts'

// The stamp that the sensor put into a message, read from its first bytes where the encoding allows it, without
// decoding the rest.

/** Nanoseconds of Unix time, or undefined where a message has none. */
export type ReadStamp = (payload: Uint8Array) => bigint | undefined

export function stampReader({ encoding, schema, schemaData }: ChannelInfo): ReadStamp | undefined {
  const text = () => Buffer.from(schemaData).toString('latin1')
  switch (encoding) {
    case 'ros1':
      return beginsWithHeader(text()) ? ros1Stamp : undefined
    case 'cdr':
      return beginsWithHeader(text()) || beginsWithIdlHeader(text(), schema) ? cdrStamp : undefined
    case 'json':
      return jsonStamp
    case 'protobuf':
      return schema.startsWith('foxglove.') ? protobufStamp : undefined
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

function fromParts(seconds: number, nanoseconds: number): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds)
}

/** uint32 seq, uint32 secs, uint32 nsecs. */
function ros1Stamp(payload: Uint8Array): bigint | undefined {
  if (payload.length < 12) return undefined
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return fromParts(view.getUint32(4, true), view.getUint32(8, true))
}

/** Four bytes of encapsulation, whose second tells the byte order; int32 sec, uint32 nanosec. */
function cdrStamp(payload: Uint8Array): bigint | undefined {
  if (payload.length < 12) return undefined
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const little = ((payload[1] ?? 0) & 1) === 1
  return fromParts(view.getInt32(4, little), view.getUint32(8, little))
}

/** Field 1 is a google.protobuf.Timestamp: 1 seconds, 2 nanos, both varints. */
function protobufStamp(payload: Uint8Array): bigint | undefined {
  if (payload[0] !== 0x0a) return undefined
  const end = 2 + (payload[1] ?? 0)
  let [seconds, nanoseconds, at] = [0n, 0n, 2]
  while (at < end && at < payload.length) {
    const tag = payload[at++]
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = payload[at++]
      if (byte === undefined || shift > 63n) return undefined
      value |= BigInt(byte & 0x7f) << shift
      shift += 7n
      if (byte < 0x80) break
    }
    if (tag === 0x08) seconds = value
    else if (tag === 0x10) nanoseconds = value
    else return undefined
  }
  return seconds * 1_000_000_000n + nanoseconds
}

function jsonStamp(payload: Uint8Array): bigint | undefined {
  try {
    const message: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    return fromJson(get(get(message, 'header'), 'stamp')) ?? fromJson(get(message, 'timestamp'))
  } catch {
    return undefined
  }
}

function fromJson(stamp: unknown): bigint | undefined {
  const seconds = get(stamp, 'sec') ?? get(stamp, 'secs')
  const nanoseconds = get(stamp, 'nsec') ?? get(stamp, 'nanosec') ?? get(stamp, 'nsecs')
  if (!Number.isSafeInteger(seconds) || !Number.isSafeInteger(nanoseconds)) return undefined
  return fromParts(Number(seconds), Number(nanoseconds))
}

function get(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
