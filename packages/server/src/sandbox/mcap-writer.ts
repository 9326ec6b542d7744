// Just enough of MCAP to write a sample: no chunks, no index, messages as JSON.

export type SampleMessage = { topic: string; schema: string; timeNs: bigint; message: object }

const MAGIC = Buffer.from('894d434150300d0a', 'hex')
const opcode = { header: 1, footer: 2, schema: 3, channel: 4, message: 5, dataEnd: 15 }

/** The messages in the order of their times, with the magic, header, footer and magic that make a file. */
export function mcapFile(messages: SampleMessage[]): Uint8Array<ArrayBuffer> {
  const sorted = messages.toSorted((a, b) => (a.timeNs < b.timeNs ? -1 : a.timeNs > b.timeNs ? 1 : 0))
  const topics = [...new Map(sorted.map(({ topic, schema }) => [topic, schema]))]
  const channelOf = new Map(topics.map(([topic], index) => [topic, index + 1]))
  const records = [
    record(opcode.header, text(''), text('tapedeck samples')),
    ...topics.map(([, schema], index) =>
      record(
        opcode.schema,
        uint16(index + 1),
        text(schema),
        text('jsonschema'),
        block(Buffer.from('{"type":"object"}')),
      ),
    ),
    ...topics.map(([topic], index) =>
      record(
        opcode.channel,
        uint16(index + 1),
        uint16(index + 1),
        text(topic),
        text('json'),
        block(Buffer.alloc(0)),
      ),
    ),
    ...sorted.map(({ topic, timeNs, message }, sequence) =>
      record(
        opcode.message,
        uint16(channelOf.get(topic) ?? 0),
        uint32(sequence),
        uint64(timeNs),
        uint64(timeNs),
        Buffer.from(JSON.stringify(message)),
      ),
    ),
    record(opcode.dataEnd, uint32(0)),
    record(opcode.footer, uint64(0n), uint64(0n), uint32(0)),
  ]
  return new Uint8Array(Buffer.concat([MAGIC, ...records, MAGIC]))
}

function record(code: number, ...fields: Buffer[]): Buffer {
  const body = Buffer.concat(fields)
  return Buffer.concat([Buffer.from([code]), uint64(BigInt(body.length)), body])
}

function text(value: string): Buffer {
  return block(Buffer.from(value))
}

function block(bytes: Buffer): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
