import { zstdCompressSync } from 'node:zlib'
import { McapWriter } from '@mcap/core'

export type FileChannel = {
  topic: string
  schema: string
  schemaEncoding: string
  definition: string | Uint8Array
  encoding: string
}

/** `t` in nanoseconds from the start that is given. */
export type FileMessage = { topic: string; t: number; data: Uint8Array }

/** An MCAP file with chunks and an index, its messages in the order given. */
export async function mcapFile(
  startNs: bigint,
  channels: FileChannel[],
  messages: Iterable<FileMessage>,
): Promise<Uint8Array> {
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
    chunkSize: 1 << 16,
    compressChunk: (data) => ({ compression: 'zstd', compressedData: zstdCompressSync(data) }),
  })
  await writer.start({ profile: '', library: 'tests' })
  const ids = new Map<string, number>()
  for (const { topic, schema, schemaEncoding, definition, encoding } of channels) {
    const data = Uint8Array.from(Buffer.from(definition))
    const schemaId = await writer.registerSchema({ name: schema, encoding: schemaEncoding, data })
    const metadata = new Map<string, string>()
    ids.set(topic, await writer.registerChannel({ schemaId, topic, messageEncoding: encoding, metadata }))
  }
  let sequence = 0
  for (const { topic, t, data } of messages) {
    const logTime = startNs + BigInt(Math.round(t))
    const channelId = ids.get(topic) ?? 0
    await writer.addMessage({ channelId, sequence: sequence++, logTime, publishTime: logTime, data })
  }
  await writer.end()
  return Buffer.concat(parts)
}
