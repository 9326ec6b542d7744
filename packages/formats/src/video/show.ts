import { openWindow } from '../bytes.ts'
import { note, openTally, report, type Tally } from '../linear/tally.ts'
import type { ScanOptions, Source, Visitor } from '../recording.ts'
import type { Run, TrackFragment } from './fragments.ts'
import { type Frames, openFrames, ticksToNs } from './frames.ts'
import { addDuration, type Durations, frameMismatch, rateOf } from './rate.ts'
import { openSamples, type Sample, type SampleTables } from './samples.ts'
import type { Track } from './track.ts'
import { unitsFit } from './units.ts'

// One track as it is shown: its frames from tables and fragments, each at its time, or counted as lost.

export type Show = {
  track: Track
  topic: string
  /** Undefined where there are none, or no time can be made of them. */
  tables: SampleTables | undefined
  /** A promise only where the content is checked. */
  sample(sample: Sample): Promise<void> | undefined
  fragment(fragment: TrackFragment, baseSeconds: number): Promise<void>
  end(): void
  told(): number
  lost: Tally
}

type Reading = { source: Source; index: Source; visitor: Visitor; options: ScanOptions }
type About = { track: Track; topic: string; clock: { timescale: number }; fragmentsS: number }

export async function openShow(reading: Reading, { track, topic, clock, fragmentsS }: About): Promise<Show> {
  const { source, index, visitor, options } = reading
  const fileBytes = source.size()
  const samples = track.timescale > 0 ? await openSamples(index, track, fileBytes) : undefined
  const tables = samples && samples.count + samples.contradictions().length > 0 ? samples : undefined
  const emptyNs = clock.timescale > 0 ? ticksToNs(track.edit.emptyMovieTicks, clock.timescale) : 0
  const window = options.full && track.unitLengthBytes > 0 ? openWindow(source) : undefined
  const lost = openTally()
  const spoilt = openTally()
  const lies = openTally()
  let rateHz: number | undefined
  let frames: Frames | undefined
  let fragmentEnd = 0
  let fragmentFrames = 0
  let fragmentBytes = 0

  const open = (durations: Durations): Frames => {
    rateHz = rateOf(durations, track.timescale)
    return openFrames(visitor, { topic, codec: track.codec, declaredRateHz: rateHz })
  }
  if (tables) frames = open(tables.durations)

  const timeOf = (ticks: number) => ticksToNs(ticks - track.edit.mediaTicks, track.timescale) + emptyNs
  const show = ({ shown, bytes, at, frames: count }: Sample, to: Frames): Promise<void> | undefined => {
    const t = timeOf(shown)
    if (at !== undefined && at + bytes > fileBytes) {
      note(lost, at, { t })
      lost.count += count - 1
      return undefined
    }
    to.frame(t, bytes)
    if (!window || at === undefined) return undefined
    return unitsFit(window, at, bytes, track.unitLengthBytes).then((fit) => {
      if (!fit) note(spoilt, at, { t })
    })
  }

  return {
    track,
    topic,
    tables,
    lost,
    sample: (sample) => frames && show(sample, frames),
    async fragment({ decoded, runs }, baseSeconds) {
      if (track.timescale === 0) return
      frames ??= open(durationsOf(runs))
      if (runs.length === 0) note(lies, 0)
      let ticks = decoded === undefined ? fragmentEnd : decoded - baseSeconds * track.timescale
      for (const run of runs) {
        for (const sample of samplesOf(run, ticks, { track, fileBytes, lies })) {
          options.signal.throwIfAborted()
          // No two frames share their bytes. Without this, a small file could claim frames without end.
          fragmentBytes += sample.bytes
          if (fragmentBytes > fileBytes) return note(lies, run.at)
          await show(sample, frames)
          fragmentFrames += sample.frames
        }
        ticks += ticksOf(run)
      }
      fragmentEnd = ticks
    },
    told: () => frames?.told() ?? 0,
    end() {
      // A track without a frame is a channel all the same.
      frames ??= open(new Map())
      frames.end()
      reportShow(visitor, { track, topic, frames, tables, spoilt, lies })
      if (track.kind !== 'video') return
      const durationS = tables ? track.durationTicks / track.timescale : fragmentsS
      const found = tables ? tables.declared : fragmentFrames
      const where = { channel: frames.channel, topic, unit: tables ? 'its table' : 'its fragments' }
      const mismatch = frameMismatch(found, durationS, rateHz, where)
      if (mismatch) visitor.finding(mismatch)
    },
  }
}

function durationsOf(runs: Run[]): Durations {
  const durations: Durations = new Map()
  for (const { declared, frames } of runs) {
    if (!Array.isArray(frames)) addDuration(durations, frames.duration, declared)
    else for (const { duration } of frames) addDuration(durations, duration, 1)
  }
  return durations
}

function ticksOf({ declared, frames }: Run): number {
  if (!Array.isArray(frames)) return declared * frames.duration
  return frames.reduce((sum, { duration }) => sum + duration, 0)
}

function* samplesOf(
  run: Run,
  from: number,
  { track, fileBytes, lies }: { track: Track; fileBytes: number; lies: Tally },
): Iterable<Sample> {
  let decoded = from
  let at = run.at
  if (Array.isArray(run.frames)) {
    if (run.declared !== run.room) note(lies, run.at)
    for (const { duration, size, shift } of run.frames) {
      yield { decoded, shown: decoded + shift, bytes: size, at, frames: 1 }
      decoded += duration
      at += size
    }
    return
  }
  const { duration, size } = run.frames
  if (size === 0) return note(lies, run.at)
  // Uncompressed sound: the run is one message, as a chunk is in the tables.
  if (track.kind === 'audio' && duration === 1) {
    yield { decoded, shown: decoded, bytes: run.declared * size, at, frames: 1 }
    return
  }
  for (let frame = 0; frame < run.declared; frame++) {
    const beyond = at + size > fileBytes
    yield { decoded, shown: decoded, bytes: size, at, frames: beyond ? run.declared - frame : 1 }
    if (beyond) return
    decoded += duration
    at += size
  }
}

type Ending = {
  track: Track
  topic: string
  frames: Frames
  tables: SampleTables | undefined
  spoilt: Tally
  lies: Tally
}

function reportShow(visitor: Visitor, { track, topic, frames, tables, spoilt, lies }: Ending) {
  const { channel, untimely } = frames
  if (track.timescale === 0) {
    const detail = `${topic} states no ticks per second (mdhd), so that its frames have no times; they are not told`
    visitor.finding({ code: 'timestamp_invalid', detail, channel })
  }
  const wrong = [...missingTables(track), ...(tables?.contradictions() ?? [])]
  if (wrong.length > 0) {
    const detail = `the tables of ${topic} contradict each other or are not there: ${wrong.join('; ')}`
    visitor.finding({ code: 'index_mismatch', detail, channel, count: wrong.length })
  }
  report(
    visitor,
    'index_mismatch',
    lies,
    `${lies.count} fragments of ${topic} say that they have other numbers of frames than they describe, the first of ` +
      `those frames at byte ${lies.at}; what is not described is not told`,
  )
  report(
    visitor,
    'timestamp_invalid',
    untimely,
    `${untimely.count} frames of ${topic} have times more than 104 days from the beginning; they are not told`,
  )
  report(
    visitor,
    'chunk_corrupt',
    spoilt,
    `${spoilt.count} frames of ${topic} are damaged, the first at byte ${spoilt.at}: the lengths of their parts do not ` +
      'add up to that of the frame',
  )
}

/** Every track has these, were they empty. */
function missingTables({ tables }: Track): string[] {
  const needed = [['stts'], ['stsc'], ['stsz', 'stz2'], ['stco', 'co64']]
  const missing = needed.filter((names) => !names.some((name) => tables.has(name)))
  return missing.map(([name]) => `${name} is missing`)
}
