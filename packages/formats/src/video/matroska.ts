import { crc32 } from 'node:zlib'
import { openWindow, type Window } from '../bytes.ts'
import { note, openTally, report, type Tally } from '../linear/tally.ts'
import type { ScanOptions, Source, Timebase, Visitor } from '../recording.ts'
import { type Element, elementsIn, readElement, trackNumber, uint } from './ebml.ts'
import { type Frames, openFrames, openTopics } from './frames.ts'
import { type MatroskaInfo, type MatroskaTrack, readInfo, readTracks } from './matroska-head.ts'
import { frameMismatch } from './rate.ts'

// Matroska and WebM. Frames stand in clusters, each with its time; no index tells the times of all of them, so the
// file is gone through once. Elements that only hold others are entered and their ends forgotten: that also reads
// what a recorder leaves behind that never came to fill in the lengths.

const SEGMENT = 0x18538067
const INFO = 0x1549a966
const TRACKS = 0x1654ae6b
const CUES = 0x1c53bb6b
const CLUSTER = 0x1f43b675
const CLUSTER_TIME = 0xe7
const BLOCK_GROUP = 0xa0
const BLOCK = 0xa1
const SIMPLE_BLOCK = 0xa3
const CHECKSUM = 0xbf
/** What else the standard places where this reader looks: containers and bytes of any length, and numbers. */
const PASSED_OVER = new Set([
  0x1a45dfa3, 0x114d9b74, 0x1254c367, 0x1941a469, 0x1043a770, 0xec, 0x5854, 0xa4, 0xc8, 0x75a1, 0x8e,
])
const NUMBERS_PASSED_OVER = new Set([CHECKSUM, 0xa7, 0xab, 0x9b, 0xfb, 0xfd, 0xfa, 0x75a2])
const NUMBER_BYTES = 8
const MAX_HEAD_BYTES = 1 << 20
const MAX_CHECKED_BYTES = 64 << 20
const BLOCK_HEAD_BYTES = 12

type State = {
  source: Source
  window: Window
  visitor: Visitor
  options: ScanOptions
  info: MatroskaInfo
  tracks: Map<number, { frames: Frames; track: MatroskaTrack; topic: string; count: number }>
  clusterTime: number | undefined
  /** Where the cluster ends, if it says so; nothing in it can be longer. */
  clusterEnd: number
  cues: boolean
  broken: Tally
  failed: Tally
  timeless: Tally
  strange: Tally
  cut: Element | undefined
}

export async function scanMatroska(
  source: Source,
  visitor: Visitor,
  options: ScanOptions,
): Promise<Timebase> {
  const size = source.size()
  const state: State = {
    source,
    window: openWindow(source),
    visitor,
    options,
    info: { scaleNs: 1_000_000, durationTicks: 0, createdUnixNs: undefined },
    tracks: new Map(),
    clusterTime: undefined,
    clusterEnd: Number.POSITIVE_INFINITY,
    cues: false,
    broken: openTally(),
    failed: openTally(),
    timeless: openTally(),
    strange: openTally(),
    cut: undefined,
  }
  visitor.origin(0n)
  for (let at = 0; at < size; ) {
    options.signal.throwIfAborted()
    const element = await readElement(state.window, at)
    const next = element && (await step(state, element))
    if (next !== undefined && next <= size) {
      at = next
    } else {
      const found = await findCluster(source, at + 1, options.signal)
      if (found === undefined && element && next !== undefined) state.cut = element
      else note(state.broken, at, { bytes: (found ?? size) - at })
      at = found ?? size
    }
    visitor.progress(at / size)
  }
  for (const { frames } of state.tracks.values()) frames.end()
  reportFile(state, size)
  return { kind: 'relative', originUnixNs: state.info.createdUnixNs }
}

/** Where to go on; undefined where this is no element that belongs here. */
async function step(state: State, element: Element): Promise<number | undefined> {
  const { id, at, start, end } = element
  if (at < state.clusterEnd && end > state.clusterEnd && Number.isFinite(end)) return undefined
  if (id === SEGMENT || id === BLOCK_GROUP) return start
  if (id === CLUSTER) {
    state.clusterTime = undefined
    state.clusterEnd = end
    if (state.options.full) await checkCluster(state, element)
    return start
  }
  if (id === SIMPLE_BLOCK || id === BLOCK) {
    if (end <= state.window.size) await tellBlock(state, element)
  } else if (id === CLUSTER_TIME) {
    state.clusterTime = end - start <= 8 ? uint(await state.window.at(start, end - start)) : undefined
  } else if (id === INFO || id === TRACKS) {
    await readHead(state, element)
  } else if (id === CUES) {
    state.cues = true
  } else if (!PASSED_OVER.has(id) && !(NUMBERS_PASSED_OVER.has(id) && end - start <= NUMBER_BYTES)) {
    return undefined
  }
  return end
}

async function readHead(state: State, { id, start, end }: Element) {
  const bytes = (await state.window.at(start, Math.min(end - start, MAX_HEAD_BYTES))).slice()
  if (id === INFO) {
    state.info = readInfo(bytes)
    return
  }
  if (state.tracks.size > 0) return
  const topicOf = openTopics()
  for (const track of readTracks(bytes)) {
    const topic = topicOf(track.kind)
    const frames = openFrames(state.visitor, { topic, codec: track.codec, declaredRateHz: track.rateHz })
    state.tracks.set(track.number, { frames, track, topic, count: 0 })
  }
}

async function tellBlock(state: State, { at, start, end }: Element) {
  const head = await state.window.at(start, Math.min(end - start, BLOCK_HEAD_BYTES))
  const number = trackNumber(head)
  const stream = number && state.tracks.get(number.track)
  if (!stream || number.bytes + 3 > head.length) return note(state.strange, at)
  stream.count++
  if (state.clusterTime === undefined) return note(state.timeless, at)
  const offset = new DataView(head.buffer, head.byteOffset).getInt16(number.bytes)
  stream.frames.frame((state.clusterTime + offset) * state.info.scaleNs, end - start - number.bytes - 3)
}

/** A cluster may begin with the checksum of what follows in it. */
async function checkCluster({ window, failed }: State, { at, start, end }: Element) {
  if (end > window.size || end - start > MAX_CHECKED_BYTES) return
  const bytes = await window.at(start, end - start)
  const [first] = elementsIn(bytes)
  if (first?.id !== CHECKSUM || first.content.length !== 4) return
  const { buffer, byteOffset } = first.content
  const stated = new DataView(buffer, byteOffset).getUint32(0, true)
  if (crc32(bytes.subarray(byteOffset - bytes.byteOffset + 4)) !== stated)
    note(failed, at, { bytes: end - at })
}

const SEARCH_BYTES = 1 << 20
const CLUSTER_ID = Buffer.from([0x1f, 0x43, 0xb6, 0x75])

async function findCluster(source: Source, from: number, signal: AbortSignal): Promise<number | undefined> {
  const size = source.size()
  for (let at = from; at + 4 <= size; at += SEARCH_BYTES) {
    signal.throwIfAborted()
    const bytes = await source.read(at, Math.min(SEARCH_BYTES + 3, size - at))
    const found = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(CLUSTER_ID)
    if (found >= 0) return at + found
  }
  return undefined
}

function reportFile(state: State, size: number) {
  const { visitor, tracks, cut, broken, failed, timeless, strange, info } = state
  const told = tracks.values().reduce((sum, { frames }) => sum + frames.told(), 0)
  if (cut) {
    const detail =
      `the file ends at byte ${size}, but its element ${cut.id.toString(16)} at byte ${cut.at} says that it goes on to ` +
      `byte ${cut.end}; what it held is lost, the ${told} frames before it are told`
    visitor.finding({ code: 'recording_truncated', detail, value: size })
  } else if (told === 0) {
    visitor.finding({ code: 'recording_empty', detail: `no frame is in these ${size} bytes` })
  } else if (!state.cues && info.durationTicks === 0) {
    const detail =
      'the film has neither an index (Cues) nor a duration: it was streamed, or its recorder never came to write ' +
      `them; all ${told} frames up to the end of the file are told`
    visitor.finding({ code: 'index_missing', detail })
  }
  reportTallies(visitor, { broken, failed, timeless, strange })
  for (const { frames, track, topic, count } of tracks.values()) {
    const { untimely, channel } = frames
    const detail = `${untimely.count} frames of ${topic} have times more than 104 days from 0; they are not told`
    report(visitor, 'timestamp_invalid', untimely, detail)
    // The duration is that of the longest track: it says something about this one only where it is alone.
    if (track.kind !== 'video' || tracks.size > 1) continue
    const durationS = (info.durationTicks * info.scaleNs) / 1e9
    const mismatch = frameMismatch(count, durationS, track.rateHz, { channel, topic, unit: 'its clusters' })
    if (mismatch) visitor.finding(mismatch)
  }
}

type Tallies = { broken: Tally; failed: Tally; timeless: Tally; strange: Tally }

function reportTallies(visitor: Visitor, { broken, failed, timeless, strange }: Tallies) {
  report(
    visitor,
    'chunk_corrupt',
    broken,
    `${broken.bytes} bytes in ${broken.count} places, the first at byte ${broken.at}, are no elements of a film, or ` +
      'have lengths that lead nowhere; reading went on at the next cluster, if there is one',
    { value: broken.bytes },
  )
  report(
    visitor,
    'chunk_corrupt',
    failed,
    `${failed.count} clusters, ${failed.bytes} bytes, do not have the checksum that they state, the first at byte ` +
      `${failed.at}; their frames are told all the same`,
  )
  report(
    visitor,
    'timestamp_invalid',
    timeless,
    `${timeless.count} frames stand in clusters without a time, the first at byte ${timeless.at}; they are not told`,
  )
  report(
    visitor,
    'messages_undecodable',
    strange,
    `${strange.count} blocks belong to no track that the file describes, the first at byte ${strange.at}; they are ` +
      'not told',
  )
}
