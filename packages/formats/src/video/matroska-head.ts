import { cleanText } from '../bytes.ts'
import { matroskaCodecName } from './codecs.ts'
import { elementsIn, uint } from './ebml.ts'

export type MatroskaInfo = {
  /** Nanoseconds in a tick of the times in clusters. */
  scaleNs: number
  /** 0 where the file does not say. */
  durationTicks: number
  createdUnixNs: bigint | undefined
}

export type MatroskaTrack = {
  number: number
  kind: 'video' | 'audio' | 'data'
  codec: string
  rateHz: number | undefined
}

const TIMESTAMP_SCALE = 0x2ad7b1
const DURATION = 0x4489
const DATE = 0x4461
const NS_1970_TO_2001 = 978_307_200_000_000_000n

export function readInfo(bytes: Uint8Array): MatroskaInfo {
  const info: MatroskaInfo = { scaleNs: 1_000_000, durationTicks: 0, createdUnixNs: undefined }
  for (const { id, content } of elementsIn(bytes)) {
    const view = new DataView(content.buffer, content.byteOffset, content.byteLength)
    if (id === TIMESTAMP_SCALE && content.length <= 6) info.scaleNs = uint(content) || info.scaleNs
    else if (id === DURATION) info.durationTicks = readFloat(view)
    else if (id === DATE && content.length === 8) info.createdUnixNs = view.getBigInt64(0) + NS_1970_TO_2001
  }
  return info
}

function readFloat(view: DataView): number {
  const value = view.byteLength === 4 ? view.getFloat32(0) : view.byteLength === 8 ? view.getFloat64(0) : 0
  return Number.isFinite(value) && value > 0 ? value : 0
}

const TRACK_ENTRY = 0xae
const NUMBER = 0xd7
const TYPE = 0x83
const CODEC = 0x86
const DEFAULT_DURATION = 0x23e383
/** A film has a handful. */
const MAX_TRACKS = 64

export function readTracks(bytes: Uint8Array): MatroskaTrack[] {
  return [...elementsIn(bytes)]
    .filter(({ id }) => id === TRACK_ENTRY)
    .slice(0, MAX_TRACKS)
    .map(({ content }) => readTrack(content))
}

function readTrack(bytes: Uint8Array): MatroskaTrack {
  const track: MatroskaTrack = { number: 0, kind: 'data', codec: '', rateHz: undefined }
  let durationNs = 0
  for (const { id, content } of elementsIn(bytes)) {
    if (id === NUMBER) track.number = uint(content)
    else if (id === TYPE) track.kind = uint(content) === 1 ? 'video' : uint(content) === 2 ? 'audio' : 'data'
    else if (id === CODEC) track.codec = matroskaCodecName(cleanText(content, 64))
    else if (id === DEFAULT_DURATION) durationNs = uint(content)
  }
  return { ...track, rateHz: durationNs > 0 ? 1e9 / durationNs : undefined }
}
