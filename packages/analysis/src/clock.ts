import { median, theilSen } from './robust.ts'
import { thresholds } from './thresholds.ts'

// The clock of a sensor beside the clock of the recorder. For each message d = recorded − stamp = latency − offset;
// latency is never negative and has a long tail, so the lower envelope of d says more than its mean. One-way delay
// cannot be seen: every offset is up to the least transport delay.

/** Stamp and time of recording of one message, in nanoseconds from the origin. */
export type Pair = { t: number; stamp: number }

export type ClockModel = {
  kind: 'synchronised' | 'offset' | 'gps' | 'simulated' | 'frozen' | 'unset'
  /** Stamp − recorded: median, and by the lower envelope. Positive: the sensor's clock is ahead. */
  offsetNs: number
  envelopeOffsetNs: number
  /** Only where it is significant. Positive: the sensor's clock runs fast. */
  driftPpm: number | null
  jumps: { t: number; ns: number }[]
  pairs: number
  /** Stamps later than their recording, by more than the threshold. */
  future: { count: number; worstNs: number; t: number | undefined }
}

const { clock } = thresholds

export function fitClock(pairs: Pair[], originUnixNs: bigint): ClockModel | undefined {
  if (pairs.length < clock.minPairs) return undefined
  const d = pairs.map(({ t, stamp }) => t - stamp)
  const medianD = median(d)
  const base = {
    offsetNs: -medianD,
    envelopeOffsetNs: -medianD,
    driftPpm: null,
    jumps: [],
    pairs: pairs.length,
    future: noFuture,
  }
  const classified = classify(pairs, medianD, originUnixNs)
  if (classified) return { ...base, kind: classified }
  const jumps = findJumps(pairs, d)
  const last = jumps.at(-1)
  // Behind a jump the clock is what it is now; pieces before it are told by the jump.
  const piece = last ? pairs.filter(({ t }) => t >= last.t) : pairs
  const envelope = fitEnvelope(piece.length >= clock.minPairs ? piece : pairs)
  return {
    ...base,
    kind: isGps(medianD) ? 'gps' : Math.abs(envelope.offsetNs) < clock.futureNs ? 'synchronised' : 'offset',
    envelopeOffsetNs: envelope.offsetNs,
    driftPpm: envelope.driftPpm,
    jumps,
    future: findFuture(pairs),
  }
}

const noFuture = { count: 0, worstNs: 0, t: undefined }

function classify(pairs: Pair[], medianD: number, originUnixNs: bigint): ClockModel['kind'] | undefined {
  const stamps = pairs.map(({ stamp }) => stamp)
  const unset = stamps.filter((stamp) => BigInt(Math.round(stamp)) + originUnixNs < 1_000_000_000n).length
  if (unset > pairs.length / 2) return 'unset'
  const first = pairs[0]
  const last = pairs.at(-1)
  if (first && last && last.t > first.t) {
    const moved = Math.max(...stamps) - Math.min(...stamps)
    if (moved < (last.t - first.t) * 0.001) return 'frozen'
  }
  return Math.abs(medianD) > clock.foreignNs ? 'simulated' : undefined
}

function isGps(medianD: number): boolean {
  return clock.gpsOffsetsS.some(
    (seconds) => Math.abs(Math.abs(medianD) - seconds * 1e9) < clock.gpsToleranceNs,
  )
}

/** A step: the medians on both sides of a place differ by much more than the spread on either. */
function findJumps(pairs: Pair[], d: number[]): { t: number; ns: number }[] {
  const width = Math.max(10, Math.min(50, Math.floor(pairs.length / 8)))
  const jumps: { t: number; ns: number; strength: number }[] = []
  for (let index = width; index + width <= pairs.length; index++) {
    const [before, behind] = [d.slice(index - width, index), d.slice(index, index + width)]
    const step = median(behind) - median(before)
    if (Math.abs(step) < clock.jumpMinNs) continue
    const spread = Math.max(spreadOf(before), spreadOf(behind))
    if (Math.abs(step) < 8 * spread) continue
    const strength = Math.abs(step) / (spread + 1)
    const near = jumps.at(-1)
    const here = { t: pairs[index]?.t ?? 0, ns: -step, strength }
    if (near && index - (pairs.findIndex(({ t }) => t === near.t) ?? 0) < width) {
      if (strength > near.strength) jumps[jumps.length - 1] = here
    } else {
      jumps.push(here)
    }
  }
  return jumps.map(({ t, ns }) => ({ t, ns }))
}

function spreadOf(values: number[]): number {
  const middle = median(values)
  return median(values.map((value) => Math.abs(value - middle)))
}

/** Least d in each of many windows; Theil–Sen through them. */
function fitEnvelope(pairs: Pair[]): { offsetNs: number; driftPpm: number | null } {
  const start = pairs[0]?.t ?? 0
  const span = (pairs.at(-1)?.t ?? start) - start
  if (span <= 0) return { offsetNs: -Math.min(...pairs.map(({ t, stamp }) => t - stamp)), driftPpm: null }
  const minima = new Map<number, { t: number; d: number }>()
  for (const { t, stamp } of pairs) {
    const window = Math.min(clock.windows - 1, Math.floor(((t - start) / span) * clock.windows))
    const known = minima.get(window)
    if (!known || t - stamp < known.d) minima.set(window, { t, d: t - stamp })
  }
  const points = [...minima.values()].sort((a, b) => a.t - b.t)
  const { slope, intercept } = theilSen(points.map(({ t, d }) => [t - start, d]))
  const residuals = pairs.map(({ t, stamp }) => t - stamp - (intercept + slope * (t - start)))
  const significant =
    pairs.length >= clock.driftMinPairs &&
    span >= clock.driftMinSpanNs &&
    Math.abs(slope) * span > clock.driftSignificance * spreadOf(residuals)
  // Not the very lowest: a few stamps may be anything.
  const lowest = points.map(({ d }) => d).sort((a, b) => a - b)[Math.floor(points.length / 10)] ?? 0
  return significant
    ? { offsetNs: -intercept, driftPpm: -slope * 1e6 }
    : { offsetNs: -lowest, driftPpm: null }
}

function findFuture(pairs: Pair[]): ClockModel['future'] {
  let [count, worstNs, t]: [number, number, number | undefined] = [0, 0, undefined]
  for (const pair of pairs) {
    const ahead = pair.stamp - pair.t
    if (ahead <= clock.futureNs) continue
    count++
    worstNs = Math.max(worstNs, ahead)
    t ??= pair.t
  }
  return { count, worstNs, t }
}
