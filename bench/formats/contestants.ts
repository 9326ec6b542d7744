import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import type { McapIndexedReader } from '@mcap/core'
import { analyse } from '../../packages/analysis/src/index.ts'
import { detect, HEAD_BYTES, type Source } from '../../packages/formats/src/index.ts'

// Who reads a recording, and how much of it. Each runs in a process of its own (measure.ts) and says what it found, so
// that nobody wins by reading less. Libraries are loaded by those who use them: their memory is theirs.

export type Outcome = { messages: number; bytesRead: number }

type Contestant = (path: string) => Promise<Outcome>

export const contestants: Record<string, Contestant> = {
  /** As the service does it: names, times, clocks, issues, segments. */
  analysis: (path) =>
    withSource(path, async (source, tempDir) => {
      const { channels } = await analyse(source, { filename: path, tempDir, signal: never() })
      return channels.reduce((sum, { count }) => sum + count, 0)
    }),
  index: (path) => scan(path, { full: false, contents: false }),
  full: (path) => scan(path, { full: true, contents: true }),
  'mcap index': mcapIndex,
  'mcap messages': mcapMessages,
  'bag messages': bagMessages,
  'sqlite rows': sqliteRows,
  'ulog messages': ulogMessages,
  'film packets': filmPackets,
}

function never(): AbortSignal {
  return new AbortController().signal
}

async function withSource(
  path: string,
  act: (source: Source, tempDir: string) => Promise<number>,
): Promise<Outcome> {
  const tempDir = await mkdtemp(join(tmpdir(), 'tapedeck-bench-scan-'))
  await using file = await open(path)
  const { size } = await file.stat()
  let bytesRead = 0
  const source: Source = {
    size: () => size,
    async read(offset, length) {
      bytesRead += length
      const { buffer } = await file.read(new Uint8Array(length), 0, length, offset)
      return buffer
    },
  }
  try {
    return { messages: await act(source, tempDir), bytesRead }
  } finally {
    await rm(tempDir, { recursive: true })
  }
}

/** A reader of ours with a visitor that counts. */
function scan(path: string, depth: { full: boolean; contents: boolean }): Promise<Outcome> {
  return withSource(path, async (source, tempDir) => {
    const { reader } = await detect(await source.read(0, Math.min(HEAD_BYTES, source.size())), path)
    if (!reader) throw new Error(`no reader for ${path}`)
    let [messages, channels, touched] = [0, 0, 0]
    await reader.scan(
      source,
      {
        origin() {},
        channel: () => channels++,
        message: () => void messages++,
        content(_channel, _t, payload) {
          touched += payload[0] ?? 0
        },
        marker() {},
        finding: ({ detail }) => {
          throw new Error(`a finding in a sound recording: ${detail}`)
        },
        progress() {},
      },
      { signal: never(), tempDir, ...depth },
    )
    if (touched < 0) throw new Error('no content')
    return messages
  })
}

/** All that an index holds, by the library: the summary, then every message index behind a chunk. */
function mcapIndex(path: string): Promise<Outcome> {
  return withMcap(path, async (reader, read) => {
    const { McapStreamReader } = await import('@mcap/core')
    let messages = 0
    for (const { chunkStartOffset, chunkLength, messageIndexLength } of reader.chunkIndexes) {
      const parser = new McapStreamReader({ noMagicPrefix: true })
      parser.append(await read(chunkStartOffset + chunkLength, messageIndexLength))
      for (let record = parser.nextRecord(); record; record = parser.nextRecord())
        if (record.type === 'MessageIndex') messages += record.records.length
    }
    return messages
  })
}

function mcapMessages(path: string): Promise<Outcome> {
  return withMcap(path, async (reader) => {
    let messages = 0
    for await (const { data } of reader.readMessages()) if (data.length > 0) messages++
    return messages
  })
}

type ReadAt = (offset: bigint, length: bigint) => Promise<Uint8Array>

function withMcap(
  path: string,
  act: (reader: McapIndexedReader, read: ReadAt) => Promise<number>,
): Promise<Outcome> {
  return withSource(path, async (source) => {
    const read: ReadAt = (offset, length) => source.read(Number(offset), Number(length))
    const { McapIndexedReader } = await import('@mcap/core')
    const reader = await McapIndexedReader.Initialize({
      readable: { size: async () => BigInt(source.size()), read },
      // The fastest that Node has, for both.
      decompressHandlers: {
        zstd: (data, size) => zstdDecompressSync(data, { chunkSize: Number(size) + 1024 }),
      },
    })
    return act(reader, read)
  })
}

async function bagMessages(path: string): Promise<Outcome> {
  const [{ Bag }, { FileReader }] = await Promise.all([
    import('@foxglove/rosbag'),
    import('@foxglove/rosbag/node.js'),
  ])
  const bag = new Bag(new FileReader(path), { parse: false })
  await bag.open()
  let messages = 0
  for await (const { data } of bag.messageIterator()) if (data.length > 0) messages++
  return { messages, bytesRead: 0 }
}

async function sqliteRows(path: string): Promise<Outcome> {
  const db = new DatabaseSync(path, { readOnly: true })
  const rows = db.prepare('select topic_id, timestamp / 1000 as us, data from messages order by id').iterate()
  let messages = 0
  for (const { data } of rows) if (data instanceof Uint8Array) messages++
  db.close()
  return { messages, bytesRead: 0 }
}

async function ulogMessages(path: string): Promise<Outcome> {
  const [{ MessageType, ULog }, { FileReader }] = await Promise.all([
    import('@foxglove/ulog'),
    import('@foxglove/ulog/node.js'),
  ])
  const ulog = new ULog(new FileReader(path))
  await ulog.open()
  let messages = 0
  for await (const message of ulog.readMessages()) if (message.type === MessageType.Data) messages++
  return { messages, bytesRead: 0 }
}

async function filmPackets(path: string): Promise<Outcome> {
  const { ALL_FORMATS, EncodedPacketSink, FilePathSource, Input } = await import('mediabunny')
  const input = new Input({ formats: ALL_FORMATS, source: new FilePathSource(path) })
  const track = await input.getPrimaryVideoTrack()
  if (!track) throw new Error('no pictures')
  let messages = 0
  for await (const packet of new EncodedPacketSink(track).packets(undefined, undefined, {
    metadataOnly: true,
  }))
    if (packet.byteLength > 0) messages++
  return { messages, bytesRead: 0 }
}
