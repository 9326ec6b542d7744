import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChannelInfo, Finding, Reader, Source, Timebase } from '../../src/recording.ts'

// What a reader tells of a file, as plain data that a test can compare.

export type Collected = {
  timebase: Timebase
  originNs: bigint | undefined
  channels: CollectedChannel[]
  markers: { t: number; label: string }[]
  findings: Finding[]
  /** Bytes asked of the source, and in how many reads. */
  read: { bytes: number; reads: number }
}

export type CollectedChannel = Omit<ChannelInfo, 'schemaData'> & {
  schemaBytes: number
  count: number
  bytes: number
  first: number | undefined
  last: number | undefined
  /** How many contents were shown. */
  contents: number
}

export function bytesSource(bytes: Uint8Array): Source {
  return {
    size: () => bytes.length,
    async read(offset, length) {
      if (offset < 0 || length < 0 || offset + length > bytes.length) {
        throw new RangeError(`read ${offset}+${length} of ${bytes.length} bytes`)
      }
      return bytes.slice(offset, offset + length)
    },
  }
}

export async function fileSource(path: string): Promise<Source> {
  return bytesSource(await readFile(path))
}

export async function collect(
  reader: Reader,
  source: Source,
  { full = false, contents = true } = {},
): Promise<Collected> {
  const channels: CollectedChannel[] = []
  const result: Omit<Collected, 'timebase'> = {
    originNs: undefined,
    channels,
    markers: [],
    findings: [],
    read: { bytes: 0, reads: 0 },
  }
  const counted: Source = {
    size: source.size,
    read(offset, length) {
      result.read.bytes += length
      result.read.reads++
      return source.read(offset, length)
    },
  }
  const channelAt = (index: number): CollectedChannel => {
    const channel = channels[index]
    if (!channel) throw new Error(`channel ${index} was never told`)
    return channel
  }
  const tempDir = await mkdtemp(join(tmpdir(), 'tapedeck-scan-'))
  try {
    const timebase = await reader.scan(
      counted,
      {
        origin(ns) {
          if (result.originNs !== undefined) throw new Error('the origin was told twice')
          result.originNs = ns
        },
        channel({ schemaData, ...info }) {
          channels.push({
            ...info,
            schemaBytes: schemaData.length,
            count: 0,
            bytes: 0,
            first: undefined,
            last: undefined,
            contents: 0,
          })
          return channels.length - 1
        },
        message(index, t, bytes) {
          if (result.originNs === undefined) throw new Error('a message before the origin')
          if (!Number.isFinite(t) || !Number.isFinite(bytes))
            throw new Error(`a message at ${t} of ${bytes} bytes`)
          const channel = channelAt(index)
          channel.count++
          channel.bytes += bytes
          channel.first = Math.min(channel.first ?? t, t)
          channel.last = Math.max(channel.last ?? t, t)
        },
        content: (index) => void channelAt(index).contents++,
        marker: (t, label) => void result.markers.push({ t, label }),
        finding: (finding) => void result.findings.push(finding),
        progress: () => {},
      },
      { signal: AbortSignal.timeout(60_000), tempDir, full, contents },
    )
    return { timebase, ...result }
  } finally {
    await rm(tempDir, { recursive: true, force: true })
  }
}
