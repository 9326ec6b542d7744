import type { Stamp } from '../stamp.ts'
import { type Messages, parseDescriptors } from './descriptor.ts'
import { WireFault, wireFields } from './wire.ts'

const TIMESTAMP = 'google.protobuf.Timestamp'
const names = ['timestamp', 'stamp', 'time']

/** Numbers of the fields that lead to the stamp of a message: its own, or that of its header. */
export function findTimestamp(descriptors: Uint8Array, schema: string): number[] | undefined {
  const messages = parseDescriptors(descriptors)
  if (!messages) return undefined
  const own = stampField(messages, schema)
  if (own !== undefined) return [own]
  const header = messages
    .get(schema)
    ?.find(({ name, typeName }) => name === 'header' && messages.has(typeName))
  const inner = header && stampField(messages, header.typeName)
  return header && inner !== undefined ? [header.number, inner] : undefined
}

function stampField(messages: Messages, schema: string): number | undefined {
  const stamps = messages.get(schema)?.filter(({ typeName, repeated }) => typeName === TIMESTAMP && !repeated)
  return stamps?.find(({ name }) => names.includes(name))?.number
}

export function timestampAt(payload: Uint8Array, path: number[]): Stamp | undefined {
  try {
    let body: Uint8Array | undefined = payload
    for (const number of path) body = body && bytesOf(body, number)
    return body && fromTimestamp(body)
  } catch (error) {
    if (error instanceof WireFault) return undefined
    throw error
  }
}

function bytesOf(body: Uint8Array, wanted: number): Uint8Array | undefined {
  for (const { number, value } of wireFields(body)) {
    if (number === wanted && typeof value !== 'bigint') return value
  }
  return undefined
}

function fromTimestamp(body: Uint8Array): Stamp {
  const stamp = { seconds: 0, nanoseconds: 0 }
  for (const { number, value } of wireFields(body)) {
    if (number === 1) stamp.seconds = Number(value)
    if (number === 2) stamp.nanoseconds = Number(value)
  }
  return stamp
}
