import type { Source } from '../recording.ts'
import { type Chunks, openChunks, openSizes, type Sizes } from './places.ts'
import { addDuration, type Durations } from './rate.ts'
import { openRows, openRuns, type Rows, type Runs } from './rows.ts'
import type { Track } from './track.ts'

// Where and when the frames of a track are stands in five tables: `stts` how long each is, `ctts` how much later than
// decoded it is shown, `stsz` how many bytes it has, `stsc` how many lie together in a chunk, `stco` where the chunks
// begin. They are followed side by side.

export type Sample = {
  /** When it is decoded and when it is shown, in ticks. */
  decoded: number
  shown: number
  bytes: number
  /** Where it lies; undefined where the tables that say it are gone. */
  at: number | undefined
  /** How many it stands for: more than one only behind the end of the file. */
  frames: number
}

export type SampleTables = {
  /** How many frames the table of sizes has, and how many it says. */
  count: number
  declared: number
  durations: Durations
  samples: () => AsyncGenerator<Sample[]>
  /** What the tables contradict each other in, after the last sample. */
  contradictions: () => string[]
}

const BATCH = 1024
/** A day of a thousand frames a second. No table of this length is honest. */
const MAX_SAMPLES = 86_400_000

/** Undefined for a track whose frames are not in tables: those of fragments come later. */
export async function openSamples(
  index: Source,
  track: Track,
  fileBytes: number,
): Promise<SampleTables | undefined> {
  const { tables } = track
  const stts = tables.get('stts')
  const sizes = await openSizes(index, tables)
  if (!stts || !sizes) return undefined
  const timeRows = await openRows(index, stts, { headBytes: 8, rowBytes: 8 })
  const ctts = tables.get('ctts')
  const durations: Durations = new Map()
  const { covered, ticks } = await readDurations(timeRows, durations)
  const times = openRuns(timeRows, false)
  const shifts = ctts && openRuns(await openRows(index, ctts, { headBytes: 8, rowBytes: 8 }), true)
  const chunks = await openChunks(index, tables)
  // In uncompressed sound each "sample" is one value of each channel: then a chunk is told, not a sample.
  const byChunk = track.kind === 'audio' && sizes.uniform > 0 && durations.size === 1 && durations.has(1)
  const wrong: string[] = []
  if (sizes.declared > sizes.count) {
    wrong.push(`stsz says ${sizes.declared} frames and has room for ${sizes.count}`)
  }
  if (covered !== sizes.count) {
    wrong.push(`stts gives times to ${covered} frames, stsz sizes to ${sizes.count}`)
  }
  if (differs(ticks, track)) {
    const stated = track.durationTicks / track.timescale
    wrong.push(`stts adds up to ${(ticks / track.timescale).toFixed(3)} s, mdhd says ${stated.toFixed(3)} s`)
  }
  const walk = {
    sizes,
    times,
    shifts,
    chunks,
    byChunk,
    fileBytes,
    frameBytes: frameBytes(track, sizes),
    wrong,
  }
  return {
    count: sizes.count,
    declared: sizes.declared,
    durations,
    samples: () => walkSamples(walk),
    contradictions: () => wrong,
  }
}

/** Writers are a frame or two off; what lies further apart has been damaged. */
function differs(ticks: number, { durationTicks, timescale }: Track): boolean {
  const difference = Math.abs(ticks - durationTicks)
  return durationTicks > 0 && difference > timescale && difference > durationTicks / 100
}

type Covered = { covered: number; ticks: number }

async function readDurations(rows: Rows, durations: Durations): Promise<Covered> {
  let covered = 0
  let ticks = 0
  for (let index = 0; index < rows.count; index++) {
    if (!rows.has(index)) await rows.load(index)
    const frames = rows.uint(index, 0)
    covered += frames
    ticks += frames * rows.uint(index, 4)
    if (frames > 0) addDuration(durations, rows.uint(index, 4), frames)
  }
  return { covered, ticks }
}

/** Some recorders write 1 for the size of a frame of sound. */
function frameBytes({ soundFrameBytes }: Track, { uniform }: Sizes): number {
  return uniform === 1 && soundFrameBytes > 0 ? soundFrameBytes : uniform
}

type Walk = {
  sizes: Sizes
  times: Runs
  shifts: Runs | undefined
  chunks: Chunks | undefined
  byChunk: boolean
  fileBytes: number
  frameBytes: number
  wrong: string[]
}

async function* walkSamples(walk: Walk): AsyncGenerator<Sample[]> {
  const { sizes, times, shifts, chunks, byChunk, fileBytes, frameBytes, wrong } = walk
  let batch: Sample[] = []
  let decoded = 0
  let at: number | undefined
  let left = chunks ? 0 : sizes.count
  let bytesSeen = 0
  let told = 0
  for (let sample = 0; sample < sizes.count; told++) {
    while (left === 0) {
      const chunk = await chunks?.next()
      if (!chunk) break
      at = chunk.at
      left = Math.min(chunk.samples, sizes.count - sample)
    }
    if (left === 0) {
      wrong.push(`stsc and stco have room for ${sample} of ${sizes.count} frames`)
      break
    }
    const size = byChunk ? left * frameBytes : sizes.at(sample)
    const bytes = typeof size === 'number' ? size : await size
    const beyond = at !== undefined && at + bytes > fileBytes
    // Frames of one size behind the end of the file need no row each: they are passed over all at once.
    const taken = byChunk || (beyond && sizes.uniform > 0) ? left : 1
    const shift = shifts ? await shifts.next() : 0
    batch.push({ decoded, shown: decoded + shift, bytes, at, frames: byChunk ? 1 : taken })
    const duration = taken > 1 ? times.skip(taken) : times.next()
    decoded += typeof duration === 'number' ? duration : await duration
    if (taken > 1) await shifts?.skip(taken - 1)
    sample += taken
    left -= taken
    if (at !== undefined) at += bytes
    if (!beyond) bytesSeen += bytes
    // No two frames share their bytes. Without this, a small file could claim frames without end.
    if (bytesSeen > fileBytes || told > MAX_SAMPLES) {
      wrong.push(`the first ${told} frames already have ${bytesSeen} bytes, in a file of ${fileBytes}`)
      break
    }
    if (batch.length >= BATCH) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}
