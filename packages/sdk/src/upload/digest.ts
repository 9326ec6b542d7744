import { SourceError } from '../errors.ts'
import type { Lane, Platform } from '../platform.ts'
import type { Part } from './plan.ts'
import type { Source } from './source.ts'

// One pass over the source: every byte is read once, and goes first through the lane that hashes the whole file and
// then through the lane that hashes the parts. The lanes are threads, so the pass takes as long as the slower of the
// two, and memory is a handful of buffers.

export type Digests = { sha256: string; parts: string[] }

const BUFFER_BYTES = 2 ** 21
const BUFFERS = 4
/** Below this a thread costs more than it gives. */
const THREADS_FROM_BYTES = 16 * 2 ** 20

type Options = { signal: AbortSignal; onHashed(bytes: number): void }

export async function digest(
  platform: Platform,
  source: Source,
  partSize: number,
  options: Options,
): Promise<Digests> {
  const inThread = source.size >= THREADS_FROM_BYTES
  const [whole, parts] = await Promise.all([platform.openLane(inThread), platform.openLane(inThread)])
  try {
    return await pass(source, partSize, { whole, parts }, options)
  } finally {
    whole.close()
    parts.close()
  }
}

async function pass(
  source: Source,
  partSize: number,
  { whole, parts }: { whole: Lane; parts: Lane },
  { signal, onHashed }: Options,
): Promise<Digests> {
  const digests: Digests = { sha256: '', parts: [] }
  const free = Array.from({ length: BUFFERS }, () => new Uint8Array(BUFFER_BYTES))
  const under = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined

  async function hash(bytes: Uint8Array<ArrayBuffer>, endsPart: boolean, endsFile: boolean): Promise<void> {
    const inWhole = await whole.add(bytes, endsFile)
    if (inWhole.digest !== undefined) digests.sha256 = inWhole.digest
    const inPart = await parts.add(inWhole.bytes, endsPart)
    if (inPart.digest !== undefined) digests.parts.push(inPart.digest)
    onHashed(inPart.bytes.length)
    free.push(new Uint8Array(inPart.bytes.buffer))
  }

  for (let offset = 0; offset < source.size; ) {
    signal.throwIfAborted()
    if (failure) throw failure.error
    const buffer = free.pop()
    if (buffer === undefined) {
      await Promise.race(under)
      continue
    }
    const partEnd = Math.min(source.size, (Math.floor(offset / partSize) + 1) * partSize)
    const bytes = buffer.subarray(0, Math.min(BUFFER_BYTES, partEnd - offset))
    await source.readInto(bytes, offset)
    offset += bytes.length
    const hashing: Promise<void> = hash(bytes, offset === partEnd, offset === source.size)
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => under.delete(hashing))
    under.add(hashing)
  }
  await Promise.all(under)
  if (failure) throw failure.error
  return digests
}

/** Throws when a part of the source does not hash any more to what it did in the pass. */
export async function checkPart(
  platform: Platform,
  source: Source,
  part: Part,
  expected: string,
): Promise<void> {
  const lane = await platform.openLane(false)
  let found: string | undefined
  let buffer = new Uint8Array(Math.min(BUFFER_BYTES, part.length))
  for (let done = 0; done < part.length; ) {
    const bytes = buffer.subarray(0, Math.min(buffer.length, part.length - done))
    await source.readInto(bytes, part.offset + done)
    done += bytes.length
    const hashed = await lane.add(bytes, done === part.length)
    found = hashed.digest
    buffer = new Uint8Array(hashed.bytes.buffer)
  }
  lane.close()
  if (found === expected) return
  throw new SourceError(
    'source_changed',
    `${source.name ?? 'the source'} changed while it was uploaded (part ${part.number} is not what was hashed); upload it again when nothing writes to it`,
  )
}
