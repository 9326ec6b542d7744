import type { Window } from '../bytes.ts'
import type { ScanOptions } from '../recording.ts'
import type { Bag } from './bag.ts'
import { op, parseFields, viewOf } from './records.ts'

// Where a record breaks, the next one is found by its `op` field, whose eight bytes say that a header is near.

/** What stands at the top of a file and never inside a chunk. */
const topOps: ReadonlySet<number> = new Set([op.indexData, op.chunk, op.chunkInfo])
export const anyOp: ReadonlySet<number> = new Set(Object.values(op))

const MARK = Buffer.from('\u0004\0\0\0op=', 'latin1')
/** How far before its `op` a header may begin, and how long it may be to be found. */
const MAX_BEFORE_BYTES = 512
const MAX_FOUND_HEADER_BYTES = 4096
/** Most gaps are short, some are the rest of the file. */
const FIRST_BLOCK_BYTES = 1 << 13
const LAST_BLOCK_BYTES = 1 << 20

/** So much is read at once to look for the end of a chunk, and not again to unpack it. */
const MAX_LOADED_BYTES = 8 << 20

/** Where a chunk ends whose length is not to be trusted: at the next record that stands in no chunk. */
export async function findChunkEnd(
  { source, window, options }: Bag,
  from: number,
  to: number,
): Promise<{ end: number | undefined; loaded?: Uint8Array }> {
  if (to - from > MAX_LOADED_BYTES)
    return { end: await findRecord(window, { from, to, ops: topOps }, options) }
  const loaded = await source.read(from, to - from)
  const found = searchRecord(loaded, { from: 0, ops: topOps, left: to - from })
  return { end: found === undefined ? undefined : from + found, loaded }
}

/** Position of the first whole record at or behind `from`, before `to`. */
export async function findRecord(
  window: Window,
  { from, to, ops }: { from: number; to: number; ops: ReadonlySet<number> },
  { signal }: ScanOptions,
): Promise<number | undefined> {
  let blockBytes = FIRST_BLOCK_BYTES
  for (let at = from; at < to; ) {
    signal.throwIfAborted()
    const bytes = await window.at(at, blockBytes + MAX_FOUND_HEADER_BYTES + 8)
    const found = searchRecord(bytes, { from: 0, ops, left: to - at })
    if (found !== undefined && found < blockBytes) return at + found
    at += blockBytes
    blockBytes = Math.min(2 * blockBytes, LAST_BLOCK_BYTES)
  }
  return undefined
}

/** The same within bytes, of which `left` are there in all. */
export function searchRecord(
  bytes: Uint8Array,
  { from, ops, left }: { from: number; ops: ReadonlySet<number>; left: number },
): number | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const view = viewOf(bytes)
  for (let mark = buffer.indexOf(MARK, from); mark !== -1; mark = buffer.indexOf(MARK, mark + 1)) {
    if (!ops.has(buffer[mark + MARK.length] ?? 0)) continue
    for (let at = Math.max(from, mark - MAX_BEFORE_BYTES); at <= mark - 4; at++) {
      const end = at + 4 + view.getUint32(at, true)
      const fits = end > mark + MARK.length && end - at <= MAX_FOUND_HEADER_BYTES && end + 4 <= bytes.length
      if (fits && end + 4 + view.getUint32(end, true) <= left && parseFields(bytes, at + 4, end)) return at
    }
  }
  return undefined
}
