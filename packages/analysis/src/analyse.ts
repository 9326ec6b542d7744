import { detect, HEAD_BYTES, type Source, type Timebase } from '@tapedeck/formats'
import type { AnalysedChannel, Analysis } from './analysis.ts'
import { type Judged, judgeChannels } from './channels.ts'
import { checkClock } from './clock-checks.ts'
import { type Collection, openCollection } from './collect.ts'
import { checkExpected, type ExpectedChannel } from './expected.ts'
import { type FoundIssue, issue } from './issue.ts'
import { arrangeIssues } from './issue-list.ts'
import { at, storable } from './nanoseconds.ts'
import { isInside, type Range, rangeOf } from './range.ts'
import { describeSegments } from './segment-contents.ts'
import { cutSegments } from './segments.ts'
import { commonSilences } from './silence.ts'
import { thresholds } from './thresholds.ts'
import { makeTimeline } from './timeline.ts'
import { checkChannelTimes, checkStalls, stallThresholdNs } from './timing-checks.ts'

export type { ExpectedChannel } from './expected.ts'

export type AnalyseOptions = {
  filename: string
  signal: AbortSignal
  tempDir: string
  /** Read everything and verify every checksum; if not said, small recordings are. */
  full?: boolean
  segmentNs?: number
  onProgress?: (fraction: number) => void
  /** What this device usually sends, or its calibration says it does. */
  expected?: ExpectedChannel[]
  /** Of the stored calibration that `expected` was made from. */
  calibrationVersion?: number | null
}

/** Reads a recording once at most, and says what is in it and what is wrong with it. */
export async function analyse(source: Source, options: AnalyseOptions): Promise<Analysis> {
  const head = await source.read(0, Math.min(HEAD_BYTES, source.size()))
  const { reader, byName, byMagic } = await detect(head, options.filename)
  const mismatch =
    byName && byMagic && byName !== byMagic ? [formatMismatch(byName.format, byMagic.format)] : []
  if (!reader) return unreadable(undefined, [...mismatch, unsupported(head)])
  const collection = openCollection(options.onProgress ?? (() => {}))
  const { signal, tempDir, full = source.size() <= thresholds.wholeBytes } = options
  const timebase = await reader.scan(source, collection.visitor, { signal, tempDir, full })
  return { ...(await conclude(collection, timebase, options, mismatch)), format: reader.format }
}

function formatMismatch(byName: string, byMagic: string): FoundIssue {
  return issue('format_mismatch', { detail: `the name says ${byName}, the bytes are ${byMagic}` })
}

function unsupported(head: Uint8Array): FoundIssue {
  const start = Buffer.from(head.subarray(0, 16)).toString('hex')
  return issue('format_unsupported', {
    detail:
      head.length === 0 ? 'the file is empty' : `no reader knows a file that begins with the bytes ${start}`,
  })
}

/** What is said of a recording that nothing can be read of. */
export function unreadable(format: Analysis['format'], issues: FoundIssue[]): Analysis {
  return {
    format,
    readable: false,
    absolute: false,
    startNs: 0n,
    endNs: 0n,
    channels: [],
    issues: arrangeIssues(issues, [], 0n),
    segments: [],
    timeline: { startNs: 0n, binNs: 0, rows: [] },
  }
}

async function conclude(
  collection: Collection,
  timebase: Timebase,
  options: AnalyseOptions,
  early: FoundIssue[],
): Promise<Omit<Analysis, 'format'>> {
  const { expected = [], calibrationVersion, segmentNs = thresholds.segment.defaultWindowNs } = options
  const unixOriginNs = timebase.kind === 'unix' ? collection.originNs() : timebase.originUnixNs
  const channels = judgeChannels(collection, timebase, expected)
  const range = rangeOf(channels.map(({ stats, info }) => ({ times: stats, latched: info.latched ?? false })))
  const structural = collection.findings.map(({ code, ...finding }) => issue(code, finding))
  if (!range) {
    const issues = [...early, ...structural]
    if (!issues.some(({ severity }) => severity === 'error'))
      issues.push(issue('recording_empty', { detail: 'there is no message in the file' }))
    return unreadable(undefined, issues)
  }
  const silences = commonSilences(collection.kept, liveChannels(channels), range, thresholds.stallMinNs)
  const stallNs =
    stallThresholdNs(channels.map(({ stats, kind }) => ({ times: stats, kind }))) ?? Number.POSITIVE_INFINITY
  const stalls = silences.filter(({ start, end }) => end - start >= stallNs)
  const issues = [
    ...early,
    ...structural,
    ...checkEpoch(timebase, unixOriginNs, range),
    ...checkStalls(stalls, stallNs),
    ...channels.flatMap((channel) => checkChannel(channel, range, stalls)),
    ...(await contentIssues(collection, channels)),
    ...checkExpected(channels, expected, calibrationVersion ?? null),
  ]
  const absolute = unixOriginNs !== undefined && isDate(unixOriginNs, range)
  // Without a date, times count from the beginning of the recording.
  const originNs = absolute ? (unixOriginNs ?? 0n) : -BigInt(Math.round(range.start))
  const timeline = makeTimeline(collection.kept, channels.length, range)
  const longSilences = silences.filter(({ start, end }) => end - start >= thresholds.segment.silenceNs)
  const cuts = cutSegments(range, collection.markers, longSilences, segmentNs, channels.length)
  return {
    readable: true,
    absolute,
    startNs: at(originNs, range.start),
    endNs: at(originNs, range.end),
    channels: channels.map((channel) => toChannel(channel, originNs)),
    issues: arrangeIssues(issues, channels, originNs),
    segments: describeSegments(cuts, collection.kept, channels, issues, timeline, range, originNs),
    timeline: { startNs: at(originNs, range.start), binNs: timeline.binNs, rows: timeline.bins },
  }
}

function liveChannels(channels: Judged[]): number[] {
  return channels.filter(({ info, stats }) => !info.latched && stats.count > 0).map(({ index }) => index)
}

function checkChannel(channel: Judged, range: Range, stalls: Range[]): FoundIssue[] {
  const { stats, index } = channel
  const found =
    stats.count > stats.outliers.count && !isInside(stats, range)
      ? [farAway(stats.count)]
      : [...checkTimes(channel, range, stalls), ...(channel.clock ? checkClock(channel.clock) : [])]
  return found.map((one) => ({ ...one, channel: index }))
}

function farAway(count: number): FoundIssue {
  return issue('timestamp_invalid', {
    detail: `all ${count} messages are far away from the rest of the recording; they were left out of its times`,
    count,
  })
}

function checkTimes({ info, kind, stats, expectedRateHz }: Judged, range: Range, stalls: Range[]) {
  const timed = {
    kind,
    encoding: info.encoding,
    times: stats,
    latched: info.latched ?? false,
    timesComputed: info.timesComputed ?? false,
    declaredRateHz: expectedRateHz ?? info.declaredRateHz,
  }
  return checkChannelTimes(timed, range, stalls)
}

async function contentIssues(collection: Collection, channels: Judged[]): Promise<FoundIssue[]> {
  const found: FoundIssue[] = []
  for (const { contents, index } of channels)
    for (const one of await contents.issues()) found.push({ ...one, channel: index })
  return [...found, ...collection.tree.issues()]
}

function isDate(unixOriginNs: bigint, { start, end }: Range): boolean {
  const { earliestUnixNs, latestUnixNs } = thresholds
  return at(unixOriginNs, start) >= earliestUnixNs && at(unixOriginNs, end) < latestUnixNs
}

function checkEpoch(timebase: Timebase, unixOriginNs: bigint | undefined, range: Range): FoundIssue[] {
  if (timebase.kind !== 'unix' || unixOriginNs === undefined || isDate(unixOriginNs, range)) return []
  if (at(unixOriginNs, range.end) >= thresholds.latestUnixNs)
    return [issue('timestamp_invalid', { detail: 'the times of recording lie behind the year 2200' })]
  return [
    issue('clock_simulated', {
      detail: 'the times of recording lie before the year 2000: a simulation, or a clock that was never set',
    }),
  ]
}

function toChannel({ info, name, kind, stats, clock }: Judged, originNs: bigint): AnalysedChannel {
  const told = stats.count > stats.outliers.count
  return {
    name,
    kind,
    topic: info.topic,
    schema: info.schema,
    encoding: info.encoding,
    count: stats.count,
    bytes: stats.bytes,
    firstNs: told ? (storable(originNs, stats.first) ?? null) : null,
    lastNs: told ? (storable(originNs, stats.last) ?? null) : null,
    rateHz: stats.medianNs === undefined ? null : 1e9 / stats.medianNs,
    jitterNs: stats.jitterNs ?? null,
    largestGapNs: stats.gaps[0]?.ns ?? null,
    clock: clock ? withoutFuture(clock) : null,
  }
}

function withoutFuture({ future: _, ...model }: NonNullable<Judged['clock']>): AnalysedChannel['clock'] {
  return model
}
