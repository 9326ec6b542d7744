import type { Timeline } from '@tapedeck/contract'

// The counts of a timeline, made ready to be drawn: sums from the beginning on, so that any stretch of any channel is
// one subtraction, however far one has zoomed out.

export type Row = {
  name: string
  /** Messages before each bin, and of all. */
  sums: Float64Array
  /** Stretches without a message between the first and the last, as pairs of bins; only those that are unusual. */
  gaps: Int32Array
  /** A rate that is full height; without one every message is. */
  fullHz: number | undefined
}

export type Recording = {
  startNs: bigint
  binNs: number
  binCount: number
  spanNs: number
  rows: Row[]
}

/** A gap is longer than so many usual periods, and than so many bins. */
const GAP_PERIODS = 4
const GAP_BINS = 2

export async function unpack(timeline: Timeline, rates: Map<string, number | null>): Promise<Recording> {
  const { bin_ns: binNs, bin_count: binCount } = timeline
  const counts = await inflate(timeline.packed ?? '')
  const rows = timeline.channels.map(({ name }, row) =>
    toRow(name, counts.subarray(row * binCount, (row + 1) * binCount), binNs, rates.get(name) ?? null),
  )
  return { startNs: BigInt(timeline.t_start_ns), binNs, binCount, spanNs: binNs * binCount, rows }
}

async function inflate(packed: string): Promise<Uint32Array> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0))
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Uint32Array(await new Response(inflated).arrayBuffer())
}

export function toRow(name: string, counts: Uint32Array, binNs: number, rateHz: number | null): Row {
  const sums = new Float64Array(counts.length + 1)
  for (let bin = 0; bin < counts.length; bin++) sums[bin + 1] = (sums[bin] ?? 0) + (counts[bin] ?? 0)
  return { name, sums, gaps: findGaps(counts, binNs, rateHz), fullHz: rateHz ? rateHz * 1.25 : undefined }
}

function findGaps(counts: Uint32Array, binNs: number, rateHz: number | null): Int32Array {
  if (!rateHz || binNs === 0) return new Int32Array()
  const least = Math.max(GAP_BINS, (GAP_PERIODS * 1e9) / rateHz / binNs)
  const found: number[] = []
  let last = -1
  for (let bin = 0; bin < counts.length; bin++) {
    if (!counts[bin]) continue
    if (last >= 0 && bin - last - 1 > least) found.push(last + 1, bin)
    last = bin
  }
  return Int32Array.from(found)
}

/** Messages between two places, given in bins; parts of a bin count in part. */
export function countBetween(row: Row, from: number, to: number): number {
  return countBefore(row, to) - countBefore(row, from)
}

export function countBefore({ sums }: Row, at: number): number {
  const last = sums.length - 1
  if (at <= 0) return 0
  if (at >= last) return sums[last] ?? 0
  const bin = Math.floor(at)
  const before = sums[bin] ?? 0
  return before + (at - bin) * ((sums[bin + 1] ?? 0) - before)
}

/** How much of the recording is alive in each of so many columns, over all channels: 1 where the most is. */
export function activityOf(recording: Recording, from: number, to: number, columns: number): Float32Array {
  const activity = new Float32Array(columns)
  const step = (to - from) / columns
  const seconds = (step * recording.binNs) / 1e9
  for (const row of recording.rows) {
    const fullHz = row.fullHz ?? usualHz(row, recording)
    for (let column = 0; column < columns; column++) {
      const hz = countBetween(row, from + column * step, from + (column + 1) * step) / (seconds || 1)
      activity[column] = (activity[column] ?? 0) + Math.min(1, hz / fullHz)
    }
  }
  const most = activity.reduce((one, other) => Math.max(one, other), 0)
  return most > 0 ? activity.map((value) => value / most) : activity
}

/** What an even spread of its messages would be, where no rate is known. */
function usualHz({ sums }: Row, { spanNs }: Recording): number {
  return Math.max((sums.at(-1) ?? 0) / (spanNs / 1e9 || 1), Number.EPSILON) * 1.25
}

export function isSilent({ sums }: Row): boolean {
  return sums.at(-1) === 0
}
