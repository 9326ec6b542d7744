import type { Window } from '../bytes.ts'
import { type Box, boxesIn } from './boxes.ts'

// A fragmented film tells of its frames piece by piece: each `moof` holds, for each track, a `traf` with defaults
// (`tfhd`), the time of its first frame (`tfdt`) and runs of frames (`trun`).

/** What a frame has where nothing nearer to it says otherwise. */
export type Defaults = { duration: number; size: number }

export type Run = {
  /** Where the first frame of the run lies. */
  at: number
  /** How many frames it says it has, and for how many its box has room. */
  declared: number
  room: number
  /** The frames that have a row, or that they are all alike and have none. */
  frames: (Defaults & { shift: number })[] | Defaults
}

export type TrackFragment = {
  trackId: number
  /** When its first frame is decoded, in ticks; undefined where the fragment goes on from the one before it. */
  decoded: number | undefined
  runs: Run[]
}

/** No writer makes fragments of more frames: an hour of a thousand a second. */
const MAX_ROWS = 3_600_000

/** `at` is the offset of the `moof`. `defaults` are those of the movie, by track. */
export async function readFragment(
  window: Window,
  moof: Box,
  defaults: Map<number, Defaults>,
  broken: (at: number) => void,
): Promise<TrackFragment[]> {
  const fragments: TrackFragment[] = []
  for await (const box of boxesIn(window, moof.start, moof.end, broken)) {
    if (box.type === 'traf') fragments.push(await readTrackFragment(window, box, moof.at, defaults, broken))
  }
  return fragments
}

async function readTrackFragment(
  window: Window,
  traf: Box,
  moofAt: number,
  movieDefaults: Map<number, Defaults>,
  broken: (at: number) => void,
): Promise<TrackFragment> {
  const fragment: TrackFragment = { trackId: 0, decoded: undefined, runs: [] }
  let base = moofAt
  let defaults: Defaults = { duration: 0, size: 0 }
  let behind = moofAt
  for await (const box of boxesIn(window, traf.start, traf.end, broken)) {
    const bytes = await window.at(box.start, box.end - box.start)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (view.byteLength < 8) continue
    if (box.type === 'tfhd') {
      fragment.trackId = view.getUint32(4)
      const head = readHead(view, movieDefaults.get(fragment.trackId) ?? defaults)
      defaults = head.defaults
      base = head.base ?? moofAt
    } else if (box.type === 'tfdt') {
      fragment.decoded =
        view.getUint8(0) === 1 && view.byteLength >= 12 ? Number(view.getBigUint64(4)) : view.getUint32(4)
    } else if (box.type === 'trun') {
      const run = readRun(view, base, behind, defaults)
      fragment.runs.push(run)
      behind = run.at + bytesOf(run)
    }
  }
  return fragment
}

function bytesOf({ declared, frames }: Run): number {
  return Array.isArray(frames) ? frames.reduce((sum, { size }) => sum + size, 0) : declared * frames.size
}

/** The fields that flags announce, in the order of the bits; absent ones take no room. */
function fields(view: DataView, from: number, bytes: [flag: number, width: number][]): Map<number, number> {
  const flags = view.getUint32(0) & 0xffffff
  const offsets = new Map<number, number>()
  let at = from
  for (const [flag, width] of bytes) {
    if ((flags & flag) === 0) continue
    if (at + width <= view.byteLength) offsets.set(flag, at)
    at += width
  }
  return offsets
}

function readHead(view: DataView, defaults: Defaults): { base: number | undefined; defaults: Defaults } {
  const at = fields(view, 8, [
    [0x1, 8],
    [0x2, 4],
    [0x8, 4],
    [0x10, 4],
  ])
  const base = at.get(0x1)
  const duration = at.get(0x8)
  const size = at.get(0x10)
  return {
    base: base === undefined ? undefined : Number(view.getBigUint64(base)),
    defaults: {
      duration: duration === undefined ? defaults.duration : view.getUint32(duration),
      size: size === undefined ? defaults.size : view.getUint32(size),
    },
  }
}

function readRun(view: DataView, base: number, behind: number, defaults: Defaults): Run {
  const flags = view.getUint32(0) & 0xffffff
  const head = fields(view, 8, [
    [0x1, 4],
    [0x4, 4],
  ])
  const offset = head.get(0x1)
  const at = offset === undefined ? behind : base + view.getInt32(offset)
  const declared = view.getUint32(4)
  const columns = [0x100, 0x200, 0x400, 0x800].filter((flag) => flags & flag)
  if (columns.length === 0) return { at, declared, room: declared, frames: defaults }
  const from = 8 + head.size * 4
  const rowBytes = columns.length * 4
  const room = Math.max(0, Math.floor((view.byteLength - from) / rowBytes))
  const field = (row: number, flag: number) => from + row * rowBytes + columns.indexOf(flag) * 4
  const frames = Array.from({ length: Math.min(declared, room, MAX_ROWS) }, (_, row) => ({
    duration: flags & 0x100 ? view.getUint32(field(row, 0x100)) : defaults.duration,
    size: flags & 0x200 ? view.getUint32(field(row, 0x200)) : defaults.size,
    // Unsigned by the letter of the first version, but written with a sign by everyone.
    shift: flags & 0x800 ? view.getInt32(field(row, 0x800)) : 0,
  }))
  return { at, declared, room, frames }
}
