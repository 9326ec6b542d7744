import { withSlots } from '../slots.ts'

// A recording whose bytes have to be asked for one by one, each time over a distance: read in blocks, the last of which
// are remembered, and ahead of whoever reads in order.

export type Ask = (offset: number, length: number) => Promise<Uint8Array>

export type AskedSource = {
  size(): number
  read(offset: number, length: number): Promise<Uint8Array>
}

export const BLOCK_BYTES = 2 ** 20
const REMEMBERED_BLOCKS = 32
const BLOCKS_AHEAD = 3
/** What is on its way at once. */
export const MAX_ASKED = 4

export function openAskedSource(bytes: number, ask: Ask): AskedSource {
  const blocks = new Map<number, Promise<Uint8Array>>()
  const patient = withSlots(ask, MAX_ASKED)
  let lastBlock = -1

  function block(index: number): Promise<Uint8Array> {
    const start = index * BLOCK_BYTES
    const known = blocks.get(index)
    // Put in anew: the one that was not wanted for longest is the first.
    blocks.delete(index)
    const wanted = known ?? patient(start, Math.min(BLOCK_BYTES, bytes - start))
    blocks.set(index, wanted)
    if (!known) wanted.catch(() => blocks.delete(index))
    const [oldest] = blocks.keys()
    if (blocks.size > REMEMBERED_BLOCKS && oldest !== undefined) blocks.delete(oldest)
    return wanted
  }

  function readAhead(from: number): void {
    for (let index = from; index < from + BLOCKS_AHEAD && index * BLOCK_BYTES < bytes; index++)
      if (!blocks.has(index)) block(index)
  }

  return {
    size: () => bytes,
    async read(offset, length) {
      if (offset < 0 || length < 0 || offset + length > bytes)
        throw new RangeError(
          `bytes ${offset} to ${offset + length} are outside of a recording of ${bytes} bytes`,
        )
      const result = new Uint8Array(length)
      const [first, end] = [Math.floor(offset / BLOCK_BYTES), Math.ceil((offset + length) / BLOCK_BYTES)]
      const inOrder = first === lastBlock || first === lastBlock + 1
      lastBlock = end - 1
      for (let index = first; index < end; index++) {
        const wanted = block(index)
        if (inOrder || end - first > 1) readAhead(index + 1)
        const start = index * BLOCK_BYTES
        const piece = (await wanted).subarray(Math.max(0, offset - start), offset + length - start)
        result.set(piece, Math.max(0, start - offset))
      }
      return result
    },
  }
}
