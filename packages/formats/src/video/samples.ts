import type { Source } from '../recording.ts'
import type { Box } from './boxes.ts'
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
  const covered = await readDurations(timeRows, durations)
  const times = openRuns(timeRows, false)
  const shifts = ctts && openRuns(await openRows(index, ctts, { headBytes: 8, rowBytes: 8 }), true)
  const chunks = await openChunks(index, tables)
  // In uncompressed sound each "sample" is one value of each channel: then a chunk is told, not a sample.
  const byChunk = track.kind === 'audio' && sizes.uniform > 0 && durations.size === 1 && durations.has(1)
  const wrong: string[] = []
  if (sizes.declared > sizes.count)
    wrong.push(`stsz says ${sizes.declared} frames and has room for ${sizes.count}`)
  if (covered !== sizes.count)
    wrong.push(`stts gives times to ${covered} frames, stsz sizes to ${sizes.count}`)
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

async function readDurations(rows: Rows, durations: Durations): Promise<number> {
  let covered = 0
  for (let index = 0; index < rows.count; index++) {
    if (!rows.has(index)) await rows.load(index)
    const frames = rows.uint(index, 0)
    covered += frames
    if (frames > 0) addDuration(durations, rows.uint(index, 4), frames)
  }
  return covered
}

type Sizes = {
  count: number
  declared: number
  uniform: number
  at: (index: number) => number | Promise<number>
}

async function openSizes(index: Source, tables: Map<string, Box>): Promise<Sizes | undefined> {
  const stsz = tables.get('stsz')
  const stz2 = tables.get('stz2')
  const box = stsz ?? stz2
  if (!box || box.end - box.start < 12) return undefined
  const head = await index.read(box.start, 12)
  const view = new DataView(head.buffer, head.byteOffset)
  const uniform = stsz ? view.getUint32(4) : 0
  if (uniform > 0) {
    const count = view.getUint32(8)
    return { count, declared: count, uniform, at: () => uniform }
  }
  const width = stsz ? 4 : view.getUint8(7) === 16 ? 2 : view.getUint8(7) === 8 ? 1 : undefined
  // The third width is four bits: no frame is as small as that.
  if (width === undefined) return undefined
  const rows = await openRows(index, box, { headBytes: 12, rowBytes: width })
  const { count, declared } = rows
  const load = async (at: number) => {
    await rows.load(at)
    return rows.uint(at, 0, width)
  }
  return { count, declared, uniform, at: (at) => (rows.has(at) ? rows.uint(at, 0, width) : load(at)) }
}

/** Some recorders write 1 for the size of a frame of sound. */
function frameBytes({ soundFrameBytes }: Track, { uniform }: Sizes): number {
  return uniform === 1 && soundFrameBytes > 0 ? soundFrameBytes : uniform
}

type Chunks = { next: () => Promise<{ at: number; samples: number } | undefined> }

async function openChunks(index: Source, tables: Map<string, Box>): Promise<Chunks | undefined> {
  const stsc = tables.get('stsc')
  const stco = tables.get('stco')
  const co64 = tables.get('co64')
  const offsetBox = stco ?? co64
  if (!stsc || !offsetBox) return undefined
  const groups = await openRows(index, stsc, { headBytes: 8, rowBytes: 12 })
  const offsets = await openRows(index, offsetBox, { headBytes: 8, rowBytes: stco ? 4 : 8 })
  let chunk = 0
  let group = 0
  let samples = 0
  return {
    async next() {
      if (chunk >= offsets.count) return undefined
      if (!offsets.has(chunk)) await offsets.load(chunk)
      while (group < groups.count) {
        if (!groups.has(group)) await groups.load(group)
        if (groups.uint(group, 0) > chunk + 1) break
        samples = groups.uint(group++, 4)
      }
      const at = stco ? offsets.uint(chunk, 0) : offsets.uint(chunk, 0) * 2 ** 32 + offsets.uint(chunk, 4)
      chunk++
      return { at, samples }
    },
  }
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
