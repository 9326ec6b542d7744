import { isBounded } from './definition-bounds.ts'
import { protobufDecoder } from './protobuf/message.ts'
import type { ChannelInfo } from './recording.ts'

// Whole messages, for the few whose values are looked at. Loaded only when a channel needs it.

/** The message as plain data; throws where the bytes do not fit the definition. */
export type Decode = (payload: Uint8Array) => unknown

/** Undefined where the encoding or the definition cannot be read. */
export async function openDecoder({
  encoding,
  schema,
  schemaEncoding,
  schemaData,
}: ChannelInfo): Promise<Decode | undefined> {
  if (encoding === 'json') return (payload) => JSON.parse(Buffer.from(payload).toString('utf8'))
  if (schemaData.length === 0) return undefined
  if (encoding === 'protobuf' && schemaEncoding === 'protobuf') return protobufDecoder(schemaData, schema)
  const text = Buffer.from(schemaData).toString('utf8')
  try {
    if (encoding === 'ros1' && schemaEncoding === 'ros1msg') return await ros1(text)
    if (encoding === 'cdr' && schemaEncoding === 'ros2msg') return await ros2(text)
  } catch {
    // A definition that cannot be parsed (service events, for one) leaves the channel counted but unread.
  }
  return undefined
}

async function ros1(text: string): Promise<Decode | undefined> {
  const [{ parse }, { MessageReader }] = await Promise.all([
    import('@foxglove/rosmsg'),
    import('@foxglove/rosmsg-serialization'),
  ])
  const definitions = parse(text)
  if (!isBounded(definitions)) return undefined
  const reader = new MessageReader(definitions)
  return (payload) => reader.readMessage(payload)
}

async function ros2(text: string): Promise<Decode | undefined> {
  const [{ parse }, { MessageReader }] = await Promise.all([
    import('@foxglove/rosmsg'),
    import('@foxglove/rosmsg2-serialization'),
  ])
  const definitions = parse(text, { ros2: true })
  if (!isBounded(definitions)) return undefined
  const reader = new MessageReader(definitions)
  return (payload) => reader.readMessage(payload)
}
