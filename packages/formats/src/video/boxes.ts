import type { Window } from '../bytes.ts'
import type { Source } from '../recording.ts'

// MP4 and MOV are boxes within boxes: four bytes of length, four of type, content.

export type Box = {
  type: string
  /** Offset of the header, of the content, and behind the box; `end` as the box says it. */
  at: number
  start: number
  end: number
}

const HEADER_BYTES = 8

/** Undefined where no box stands at `at`. A length of 0 means up to `limit`. */
export async function readBox(window: Window, at: number, limit: number): Promise<Box | undefined> {
  const head = await window.at(at, 16)
  if (at + HEADER_BYTES > limit || head.length < HEADER_BYTES) return undefined
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const type = String.fromCharCode(...head.subarray(4, 8))
  if (!/^[\x20-\x7e\xa9]{4}$/.test(type)) return undefined
  const short = view.getUint32(0)
  if (short === 0) return { type, at, start: at + HEADER_BYTES, end: limit }
  if (short > 1)
    return short < HEADER_BYTES ? undefined : { type, at, start: at + HEADER_BYTES, end: at + short }
  if (head.length < 16) return undefined
  const long = view.getUint32(8) * 2 ** 32 + view.getUint32(12)
  return long < 16 ? undefined : { type, at, start: at + 16, end: at + long }
}

const ENTERED = new Set(['mdia', 'minf', 'stbl', 'edts'])
/** These hold bytes of all kinds, which may look like anything. */
const LEAVES = new Set(['mdat', 'free', 'skip', 'udta', 'meta'])
/** A film has some fifty boxes for each track. */
const MAX_BOXES = 100_000

/** What some boxes always begin with: so they are known even where their own type is damaged. */
const BEGINNINGS = new Map([
  ['mvhd', 'moov'],
  ['tkhd', 'trak'],
  ['mdhd', 'mdia'],
  ['stsd', 'stbl'],
  ['mfhd', 'moof'],
  ['tfhd', 'traf'],
])

/** The box with the type that it must have by its content. */
export async function mendBox(window: Window, box: Box, broken: (at: number) => void): Promise<Box> {
  if (LEAVES.has(box.type)) return box
  const head = await window.at(box.start, HEADER_BYTES)
  const type = BEGINNINGS.get(String.fromCharCode(...head.subarray(4, 8)))
  if (type === undefined || type === box.type) return box
  broken(box.at)
  return { ...box, type }
}

/**
 * The boxes from `from` to `to`; those that only hold others are entered. A box that says it is longer than what
 * holds it is told as `broken`, and so is a place where no box stands; what lies behind either is not reached.
 */
export async function* boxesIn(
  window: Window,
  from: number,
  to: number,
  broken: (at: number) => void,
): AsyncGenerator<Box> {
  let at = from
  for (let boxes = 0; at + HEADER_BYTES <= to && boxes < MAX_BOXES; boxes++) {
    const found = await readBox(window, at, to)
    if (!found || found.end > to) broken(at)
    if (!found) return
    const box = await mendBox(window, found, broken)
    if (ENTERED.has(box.type)) {
      at = box.start
      continue
    }
    yield { ...box, end: Math.min(box.end, to) }
    at = box.end
  }
}

const SEARCH_BYTES = 1 << 20
/** Together with what they begin with, their types are marks that do not come about by chance. */
const MARKS: [outer: string, inner: string][] = [
  ['moov', 'mvhd'],
  ['moof', 'mfhd'],
]

/** Offset of the next movie or fragment at or behind `from`, for when lengths have stopped leading anywhere. */
export async function findMark(
  source: Source,
  from: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const size = source.size()
  for (let at = from; at + 16 <= size; at += SEARCH_BYTES) {
    signal.throwIfAborted()
    const { buffer, byteOffset, byteLength } = await source.read(at, Math.min(SEARCH_BYTES + 16, size - at))
    const block = Buffer.from(buffer, byteOffset, byteLength)
    const found = MARKS.map(([outer, inner]) => findPair(block, outer, inner)).filter((index) => index >= 0)
    if (found.length > 0) return at + Math.min(...found)
  }
  return undefined
}

function findPair(block: Buffer, outer: string, inner: string): number {
  for (let index = block.indexOf(outer); index >= 0; index = block.indexOf(outer, index + 1)) {
    if (index >= 4 && block.toString('latin1', index + 8, index + 12) === inner) return index - 4
  }
  return -1
}
