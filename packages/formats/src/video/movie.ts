import { openWindow, type Window } from '../bytes.ts'
import { note, openTally, report } from '../linear/tally.ts'
import type { ScanOptions, Source, Timebase, Visitor } from '../recording.ts'
import { type Box, boxesIn } from './boxes.ts'
import { type Defaults, readFragment } from './fragments.ts'
import { openTopics } from './frames.ts'
import { mergeSamples } from './merge.ts'
import { openShow, type Show } from './show.ts'
import { readClock, readTrack, type Track } from './track.ts'

// A film: its tracks, and the frames of each as far as the index and the fragments tell of them.

export type Movie = {
  fragment(window: Window, moof: Box): Promise<void>
  end(): Timebase
  counts(): { told: number; lost: Lost }
}

export type Lost = { count: number; t: number | undefined; detail: string }

/** An index of this size is read at once; a larger one by windows. */
const MAX_WHOLE_BYTES = 4 << 20
/** Each may need windows of its own over five tables. */
const MAX_TRACKS = 64
/** A fragment is some seconds of film. */
const MAX_FRAGMENT_BYTES = 16 << 20

export async function openMovie(
  source: Source,
  moov: Box,
  visitor: Visitor,
  options: ScanOptions,
): Promise<Movie> {
  const broken = openTally()
  const breaks = (at: number) => note(broken, at)
  const index = await indexOf(source, moov)
  const { tracks, more, clock, defaults, fragmentsTicks } = await readMovie(openWindow(index), moov, breaks)
  const topicOf = openTopics()
  const shows: Show[] = []
  for (const track of tracks) {
    const topic = topicOf(track.kind)
    const fragmentsS = clock.timescale > 0 ? fragmentsTicks / clock.timescale : 0
    shows.push(await openShow({ source, index, visitor, options }, { track, topic, clock, fragmentsS }))
  }
  let base: number | undefined
  if (shows.some((show) => show.tables)) {
    base = 0
    visitor.origin(0n)
    await mergeSamples(shows, options.signal)
  }
  return {
    async fragment(window, moof) {
      if (moof.end - moof.start > MAX_FRAGMENT_BYTES) return breaks(moof.at)
      const fragments = await readFragment(window, moof, defaults, breaks)
      if (fragments.length === 0) breaks(moof.at)
      for (const fragment of fragments) {
        const show = shows.find(({ track }) => track.id === fragment.trackId)
        if (!show) {
          breaks(moof.at)
          continue
        }
        if (base === undefined) {
          base = baseSeconds(fragment.decoded ?? 0, show.track.timescale)
          visitor.origin(BigInt(base) * 1_000_000_000n)
        }
        await show.fragment(fragment, base)
      }
    },
    end() {
      for (const show of shows) show.end()
      report(
        visitor,
        'chunk_corrupt',
        broken,
        `${broken.count} boxes of the index are damaged or name what is not there, the first at byte ${broken.at}; ` +
          'what they told of the frames is lost',
      )
      if (more > 0) visitor.finding({ code: 'messages_undecodable', detail: tooMany(more), count: more })
      return { kind: 'relative', originUnixNs: unixNs(clock.created) }
    },
    counts: () => ({ told: shows.reduce((sum, show) => sum + show.told(), 0), lost: lostOf(shows) }),
  }
}

/** Tables are followed side by side: one read for all of them, where they are small enough. */
async function indexOf(source: Source, { start, end }: Box): Promise<Source> {
  if (end - start > MAX_WHOLE_BYTES)
    return { size: () => end, read: (offset, length) => source.read(offset, length) }
  const bytes = await source.read(start, end - start)
  return { size: () => end, read: async (at, length) => bytes.subarray(at - start, at - start + length) }
}

type MovieBoxes = {
  tracks: Track[]
  /** Tracks that are not followed. */
  more: number
  clock: { timescale: number; created: number }
  /** For fragments, by track. */
  defaults: Map<number, Defaults>
  /** How long all fragments are, in ticks of the movie; 0 where the file does not say. */
  fragmentsTicks: number
}

async function readMovie(window: Window, moov: Box, broken: (at: number) => void): Promise<MovieBoxes> {
  const movie: MovieBoxes = {
    tracks: [],
    more: 0,
    clock: { timescale: 0, created: 0 },
    defaults: new Map(),
    fragmentsTicks: 0,
  }
  for await (const box of boxesIn(window, moov.start, moov.end, broken)) {
    if (box.type === 'trak' && movie.tracks.length < MAX_TRACKS)
      movie.tracks.push(await readTrack(window, box, broken))
    else if (box.type === 'trak') movie.more++
    else if (box.type === 'mvhd') movie.clock = readClock(await viewOf(window, box))
    else if (box.type === 'mvex') await readExtends(window, box, movie, broken)
  }
  return movie
}

async function readExtends(window: Window, mvex: Box, movie: MovieBoxes, broken: (at: number) => void) {
  for await (const box of boxesIn(window, mvex.start, mvex.end, broken)) {
    const view = await viewOf(window, box)
    if (box.type === 'trex' && view.byteLength >= 20 && movie.defaults.size < MAX_TRACKS) {
      movie.defaults.set(view.getUint32(4), { duration: view.getUint32(12), size: view.getUint32(16) })
    } else if (box.type === 'mehd' && view.byteLength >= 8) {
      const long = view.getUint8(0) === 1 && view.byteLength >= 12
      movie.fragmentsTicks = long ? Number(view.getBigUint64(4)) : view.getUint32(4)
    }
  }
}

async function viewOf(window: Window, { start, end }: Box): Promise<DataView> {
  const bytes = await window.at(start, Math.min(end - start, 128))
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Live streams count from a clock of their own, maybe for years: then counting begins anew at the first fragment. */
function baseSeconds(decoded: number, timescale: number): number {
  const seconds = timescale > 0 ? Math.floor(decoded / timescale) : 0
  return seconds > 86_400 ? seconds : 0
}

const SECONDS_1904_TO_1970 = 2_082_844_800
const FROM_1990 = 631_152_000
const TO_2100 = 4_102_444_800

/** Most recorders leave the time of creation at 0, which is 1904; only a time that can be true is taken. */
function unixNs(created: number): bigint | undefined {
  const seconds = created - SECONDS_1904_TO_1970
  return seconds >= FROM_1990 && seconds < TO_2100 ? BigInt(seconds) * 1_000_000_000n : undefined
}

function lostOf(shows: Show[]): Lost {
  const losing = shows.filter(({ lost }) => lost.count > 0)
  return {
    count: losing.reduce((sum, { lost }) => sum + lost.count, 0),
    t: losing.length > 0 ? Math.min(...losing.map(({ lost }) => lost.t ?? 0)) : undefined,
    detail: losing.map(({ lost, topic }) => `${lost.count} frames of ${topic}`).join(', '),
  }
}

function tooMany(more: number): string {
  return `the film has ${MAX_TRACKS + more} tracks; the frames of those beyond ${MAX_TRACKS} are not told`
}
