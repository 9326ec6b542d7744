import { cleanText, type Window } from '../bytes.ts'
import { type Box, boxesIn } from './boxes.ts'
import { codecName } from './codecs.ts'

/** A track as `moov` describes it; where its frames lie is in the tables. */
export type Track = {
  id: number
  kind: 'video' | 'audio' | 'data'
  codec: string
  /** Bytes before each unit of an H.264 or H.265 frame that tell its length; 0 where there are none. */
  unitLengthBytes: number
  /** Ticks in a second; 0 makes times impossible. */
  timescale: number
  /** In ticks; 0 where the file does not say. */
  durationTicks: number
  /** Bytes of one frame of uncompressed sound, by the description of the track. */
  soundFrameBytes: number
  /** The edit list: empty time before the track (in ticks of the movie), and the media time shown first. */
  edit: { emptyMovieTicks: number; mediaTicks: number }
  tables: Map<string, Box>
}

const DESCRIPTION_BYTES = 4096
const MAX_EDITS = 1000

export async function readTrack(window: Window, box: Box, broken: (at: number) => void): Promise<Track> {
  const track: Track = {
    id: 0,
    kind: 'data',
    codec: '',
    unitLengthBytes: 0,
    timescale: 0,
    durationTicks: 0,
    soundFrameBytes: 0,
    edit: { emptyMovieTicks: 0, mediaTicks: 0 },
    tables: new Map(),
  }
  for await (const child of boxesIn(window, box.start, box.end, broken)) {
    const bytes = await window.at(child.start, Math.min(child.end - child.start, DESCRIPTION_BYTES))
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (child.type === 'tkhd')
      track.id = view.byteLength < 24 ? 0 : view.getUint32(view.getUint8(0) === 1 ? 20 : 12)
    else if (child.type === 'mdhd') Object.assign(track, readClock(view))
    else if (child.type === 'hdlr') Object.assign(track, { kind: kindOf(bytes) })
    else if (child.type === 'elst') track.edit = readEdit(view)
    else if (child.type === 'stsd') describe(track, view, bytes)
    else if (/^(st(ts|sz|z2|sc|co)|ctts|co64)$/.test(child.type)) track.tables.set(child.type, child)
  }
  return track
}

export type Clock = { timescale: number; durationTicks: number; created: number }

/** `mvhd` and `mdhd` begin alike. `created` is seconds since 1904, 0 for unset. */
export function readClock(view: DataView): Clock {
  const long = view.byteLength > 0 && view.getUint8(0) === 1
  if (view.byteLength < (long ? 32 : 20)) return { timescale: 0, durationTicks: 0, created: 0 }
  const timescale = view.getUint32(long ? 20 : 12)
  const created = long ? Number(view.getBigUint64(4)) : view.getUint32(4)
  // All bits set means that the duration is not known.
  const duration = long ? view.getBigUint64(24) : BigInt(view.getUint32(16))
  const known = duration !== (long ? 2n ** 64n - 1n : 2n ** 32n - 1n)
  return { timescale, durationTicks: known ? Number(duration) : 0, created }
}

function kindOf(handler: Uint8Array): Track['kind'] {
  const type = String.fromCharCode(...handler.subarray(8, 12))
  return type === 'vide' ? 'video' : type === 'soun' ? 'audio' : 'data'
}

function readEdit(view: DataView): Track['edit'] {
  const long = view.byteLength > 0 && view.getUint8(0) === 1
  const rowBytes = long ? 20 : 12
  const count =
    view.byteLength < 8 ? 0 : Math.min(view.getUint32(4), Math.floor((view.byteLength - 8) / rowBytes))
  let emptyMovieTicks = 0
  for (let row = 0; row < Math.min(count, MAX_EDITS); row++) {
    const at = 8 + row * rowBytes
    const mediaTicks = long ? Number(view.getBigInt64(at + 8)) : view.getInt32(at + 4)
    if (mediaTicks !== -1) return { emptyMovieTicks, mediaTicks }
    emptyMovieTicks += long ? Number(view.getBigUint64(at)) : view.getUint32(at)
  }
  return { emptyMovieTicks: 0, mediaTicks: 0 }
}

function describe(track: Track, view: DataView, bytes: Uint8Array) {
  if (view.byteLength < 16) return
  const fourcc = bytes.subarray(12, 16)
  track.codec = codecName(String.fromCharCode(...fourcc), bytes) ?? cleanText(fourcc, 4).trim()
  if (track.kind === 'audio' && view.byteLength >= 36) {
    track.soundFrameBytes = view.getUint16(32) * Math.ceil(view.getUint16(34) / 8)
  }
  track.unitLengthBytes = unitLengthBytes(Buffer.from(bytes))
}

function unitLengthBytes(description: Buffer): number {
  const avc = description.indexOf('avcC')
  const hevc = description.indexOf('hvcC')
  const byte = avc >= 0 ? description[avc + 8] : hevc >= 0 ? description[hevc + 25] : undefined
  return byte === undefined ? 0 : (byte & 3) + 1
}
