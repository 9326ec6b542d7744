import type { Source } from '../recording.ts'
import type { Box } from './boxes.ts'

// The tables of a film have one row for each frame or run of frames, and may be larger than memory: they are gone
// through by windows of their own.

export type Rows = {
  /** How many there are: what the table says, but no more than fit into its box. */
  count: number
  declared: number
  /** False until the window lies over the row. */
  has(index: number): boolean
  load(index: number): Promise<void>
  /** A number in the row, which must be loaded. */
  uint(index: number, offset: number, bytes?: 1 | 2 | 4): number
  int(index: number, offset: number): number
}

const WINDOW_BYTES = 1 << 16

/** Rows of `rowBytes` behind `headBytes` of the box, of which the last four are their number. */
export async function openRows(
  source: Source,
  box: Box,
  { headBytes, rowBytes }: { headBytes: number; rowBytes: number },
): Promise<Rows> {
  const from = box.start + headBytes
  const declared = from <= box.end ? await readUint32(source, from - 4) : 0
  const count = Math.max(0, Math.min(declared, Math.floor((box.end - from) / rowBytes)))
  let first = 0
  let loaded = 0
  let view: DataView = new DataView(new ArrayBuffer(0))
  return {
    count,
    declared,
    has: (index) => index >= first && index < first + loaded,
    async load(index) {
      first = index
      loaded = Math.min(count - index, Math.max(1, Math.floor(WINDOW_BYTES / rowBytes)))
      const bytes = await source.read(from + index * rowBytes, loaded * rowBytes)
      view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    },
    uint(index, offset, bytes = 4) {
      const at = (index - first) * rowBytes + offset
      return bytes === 4 ? view.getUint32(at) : bytes === 2 ? view.getUint16(at) : view.getUint8(at)
    },
    int: (index, offset) => view.getInt32((index - first) * rowBytes + offset),
  }
}

async function readUint32(source: Source, at: number): Promise<number> {
  const bytes = await source.read(at, 4)
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
}

/** Rows that say "so many times this value": `stts`, `ctts`. */
export type Runs = {
  /** The value for the next one. `last` again behind the end of the table. */
  next(): number | Promise<number>
  /** Goes over `count` of them; returns the sum of their values. */
  skip(count: number): Promise<number>
  /** Whether the table had a row for all that was asked. */
  covered(): boolean
}

export function openRuns(rows: Rows, signed: boolean): Runs {
  let index = 0
  let left = 0
  let value = 0
  let covered = true

  const advance = async () => {
    while (left === 0 && index < rows.count) {
      if (!rows.has(index)) await rows.load(index)
      left = rows.uint(index, 0)
      value = signed ? rows.int(index, 4) : rows.uint(index, 4)
      index++
    }
    if (left === 0) {
      covered = false
      left = Number.MAX_SAFE_INTEGER
    }
  }
  const nextAfterAdvance = async () => {
    await advance()
    left--
    return value
  }
  return {
    next() {
      if (left === 0) return nextAfterAdvance()
      left--
      return value
    },
    async skip(count) {
      let sum = 0
      for (let rest = count; rest > 0; ) {
        if (left === 0) await advance()
        const taken = Math.min(rest, left)
        sum += taken * value
        left -= taken
        rest -= taken
      }
      return sum
    },
    covered: () => covered,
  }
}
