import type { Source } from '../recording.ts'

/** In this much most files say what they hold. */
const TAIL_BYTES = 512 * 2 ** 10
const HEAD_BYTES = 4 * 2 ** 10

/** A source with both ends of the file at hand: they are read at once, and never again. */
export async function withEnds(source: Source): Promise<Source> {
  const size = source.size()
  const tailAt = Math.max(0, size - TAIL_BYTES)
  const [head, tail] = await Promise.all([
    read(source, 0, Math.min(HEAD_BYTES, tailAt)),
    read(source, tailAt, size),
  ])
  return holding(holding(source, 0, head), tailAt, tail)
}

/** A source with some of its bytes at hand. */
export function holding(source: Source, at: number, bytes: Uint8Array): Source {
  const end = at + bytes.length
  return {
    size: () => source.size(),
    async read(offset, length) {
      const stop = offset + length
      if (stop <= at || offset >= end) return source.read(offset, length)
      const held = bytes.subarray(Math.max(0, offset - at), stop - at)
      if (held.length === length) return held
      return Buffer.concat([
        await read(source, offset, Math.min(at, stop)),
        held,
        await read(source, Math.max(end, offset), stop),
      ])
    },
  }
}

async function read(source: Source, from: number, to: number): Promise<Uint8Array> {
  return from < to ? source.read(from, to - from) : new Uint8Array()
}
