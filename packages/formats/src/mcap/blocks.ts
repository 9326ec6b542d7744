import { crc32 } from 'node:zlib'
import type { Source } from '../recording.ts'

/** Blocks begin small, since the next record may be skipped, and grow as long as they are read one after the other. */
const FIRST_BLOCK_BYTES = 64 * 2 ** 10
const BLOCK_BYTES = 2 * 2 ** 20
const BLOCKS_AT_HAND = 3

/** A way forward over a file in large blocks, with the next ones under way. */
export type Blocks = {
  /** At least `length` bytes from `offset` on and all that are at hand behind them; less only at the end. */
  at(offset: number, length: number): Promise<Uint8Array>
  /** Of all bytes from the beginning up to `offset`; undefined if they were not all read, or not in order. */
  crcTo(offset: number): Promise<number | undefined>
}

type Block = { start: number; end: number; read: Promise<Uint8Array> }

/** With `everyByte` nothing is skipped, so that the CRC of the whole can be told. */
export function openBlocks(
  source: Source,
  { from, to, everyByte }: { from: number; to: number; everyByte: boolean },
): Blocks {
  let blocks: Block[] = []
  let blockBytes = FIRST_BLOCK_BYTES
  let nextAt = everyByte ? 0 : from
  let crc: number | undefined = everyByte ? 0 : undefined
  let crcAt = 0

  const add = (end: number): void => {
    blocks.push(begin(source, nextAt, end))
    nextAt = end
  }
  const restart = (offset: number): void => {
    blocks = []
    nextAt = offset
    blockBytes = FIRST_BLOCK_BYTES
  }
  const moveTo = async (offset: number): Promise<Block | undefined> => {
    const start = blocks[0]?.start ?? nextAt
    if (offset < start) crc = undefined
    if (offset < start && start - offset <= BLOCK_BYTES) blocks.unshift(begin(source, offset, start))
    else if (offset < start || (crc === undefined && offset > nextAt)) restart(offset)
    for (;;) {
      while (blocks.length < BLOCKS_AT_HAND && nextAt < to) {
        add(Math.min(nextAt + blockBytes, to))
        blockBytes = Math.min(blockBytes * 2, BLOCK_BYTES)
      }
      const [first] = blocks
      if (!first) return undefined
      if (crc !== undefined && crcAt < offset) {
        const stop = Math.min(offset, first.end)
        crc = crc32((await first.read).subarray(crcAt - first.start, stop - first.start), crc)
        crcAt = stop
      }
      if (first.end > offset) return first
      blocks.shift()
    }
  }

  return {
    async at(offset, length) {
      const end = Math.min(offset + length, to)
      const first = await moveTo(offset)
      if (!first) return new Uint8Array()
      if (end <= first.end) return (await first.read).subarray(offset - first.start)
      if (end > nextAt) add(end)
      const needed = blocks.filter(({ start }) => start < end)
      const parts = await Promise.all(needed.map(({ read }) => read))
      if (end - offset <= BLOCK_BYTES) return join(parts, offset - first.start, end - first.start)
      // A large record takes the place of the blocks that it was in: it is not held twice.
      const joined = join(parts, offset - first.start, Number.POSITIVE_INFINITY)
      const whole = { start: offset, end: offset + joined.length, read: Promise.resolve(joined) }
      blocks = [whole, ...blocks.slice(needed.length)]
      return joined
    },
    async crcTo(offset) {
      await moveTo(offset)
      return crcAt === offset ? crc : undefined
    },
  }
}

function begin(source: Source, start: number, end: number): Block {
  const read = source.read(start, end - start)
  // A scan that stops early must not leave a failure behind that nobody hears.
  read.catch(() => {})
  return { start, end, read }
}

function join(parts: Uint8Array[], from: number, to: number): Uint8Array {
  let at = 0
  const within = parts.map((part) => {
    const start = at
    at += part.length
    return part.subarray(Math.max(0, from - start), Math.max(0, to - start))
  })
  return Buffer.concat(within)
}
