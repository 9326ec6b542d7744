import type { Reader, Source } from '../../src/recording.ts'

export type Listed = {
  topic: string
  t: number
  /** The same time, with the origin. */
  ns: bigint
  bytes: number
  content: Uint8Array | undefined
}

/** Every message that a reader tells, in its order, for files small enough to hold. */
export async function list(reader: Reader, source: Source, { full = false } = {}): Promise<Listed[]> {
  const topics: string[] = []
  const listed: Listed[] = []
  let originNs = 0n
  await reader.scan(
    source,
    {
      origin(ns) {
        originNs = ns
      },
      channel: ({ topic }) => topics.push(topic) - 1,
      message(channel, t, bytes) {
        const ns = originNs + BigInt(t)
        listed.push({ topic: topics[channel] ?? '', t, ns, bytes, content: undefined })
      },
      content(_channel, _t, payload) {
        const last = listed.at(-1)
        if (last) last.content = Uint8Array.from(payload)
      },
      marker: () => {},
      finding: () => {},
      progress: () => {},
    },
    { signal: AbortSignal.timeout(60_000), tempDir: '', full },
  )
  return listed
}
