import { detect, HEAD_BYTES, type Source, type Timebase } from '@tapedeck/formats'
import type { AnalysedChannel, AnalysedIssue, AnalysedSegment, Analysis } from './analysis.ts'
import { nameChannels, uniqueNames } from './channel-names.ts'
import type { ChannelTimes } from './channel-stats.ts'
import { type ClockModel, fitClock } from './clock.ts'
import { checkClock } from './clock-checks.ts'
import { type CollectedChannel, type Collection, openCollection } from './collect.ts'
import { type FoundIssue, issue, worstFirst } from './issue.ts'
import { isInside, type Range, rangeOf } from './range.ts'
import { type Cut, cutSegments } from './segments.ts'
import { commonSilences } from './silence.ts'
import { thresholds } from './thresholds.ts'
import { makeTimeline, type Timeline } from './timeline.ts'
import { checkChannelTimes, checkStalls, stallThresholdNs } from './timing-checks.ts'

export type AnalyseOptions = {
  filename: string
  signal: AbortSignal
  tempDir: string
  /** Read everything and verify every checksum. */
  full?: boolean
  segmentNs?: number
  onProgress?: (fraction: number) => void
  /** What this device usually sends, or its calibration says it does. */
  expected?: ExpectedChannel[]
  /** Of the stored calibration that `expected` was made from. */
  calibrationVersion?: number | null
}

export type ExpectedChannel = { topic: string; name?: string; rateHz?: number; hasIntrinsics?: boolean }

/** Reads a recording once at most, and says what is in it and what is wrong with it. */
export async function analyse(source: Source, options: AnalyseOptions): Promise<Analysis> {
  const head = await source.read(0, Math.min(HEAD_BYTES, source.size()))
  const { reader, byName, byMagic } = detect(head, options.filename)
  const mismatch =
    byName && byMagic && byName !== byMagic ? [formatMismatch(byName.format, byMagic.format)] : []
  if (!reader) return unreadable(undefined, [...mismatch, unsupported(head)])
  const collection = openCollection(options.onProgress ?? (() => {}))
  const { signal, tempDir, full = false } = options
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

function unreadable(format: Analysis['format'], issues: FoundIssue[]): Analysis {
  return {
    format,
    readable: false,
    absolute: false,
    startNs: 0n,
    endNs: 0n,
    channels: [],
    issues: issues.sort(worstFirst).map((found) => toIssue(found, new Map(), 0n)),
    segments: [],
    timeline: { startNs: 0n, binNs: 0, rows: [] },
  }
}

type Judged = CollectedChannel & {
  index: number
  name: string
  kind: AnalysedChannel['kind']
  stats: ChannelTimes
  clock: ClockModel | undefined
  expectedRateHz: number | undefined
}

async function conclude(
  collection: Collection,
  timebase: Timebase,
  options: AnalyseOptions,
  early: FoundIssue[],
): Promise<Omit<Analysis, 'format'>> {
  const unixOriginNs = timebase.kind === 'unix' ? collection.originNs() : timebase.originUnixNs
  const channels = judgeChannels(collection, timebase, options.expected ?? [])
  const range = rangeOf(channels.map(({ stats, info }) => ({ times: stats, latched: info.latched ?? false })))
  const structural = collection.findings.map((finding) => fromFinding(finding, channels))
  if (!range) {
    const issues = [...early, ...structural]
    if (!issues.some(({ severity }) => severity === 'error'))
      issues.push(issue('recording_empty', { detail: 'there is no message in the file' }))
    return { ...unreadable(undefined, issues), channels: [] }
  }
  const silences = commonSilences(collection.kept, liveChannels(channels), range, thresholds.stallMinNs)
  const stallNs =
    stallThresholdNs(channels.map(({ stats, kind }) => ({ times: stats, kind }))) ?? Number.POSITIVE_INFINITY
  const stalls = silences.filter(({ start, end }) => end - start >= stallNs)
  const issues = merge([
    ...early,
    ...structural,
    ...checkEpoch(timebase, unixOriginNs, range),
    ...checkStalls(stalls, stallNs),
    ...channels.flatMap((channel) => checkChannel(channel, range, stalls)),
    ...(await contentIssues(collection, channels)),
    ...checkMissing(channels, options.expected ?? []),
    ...checkCalibration(channels, options),
  ])
  const absolute = unixOriginNs !== undefined && isDate(unixOriginNs, range)
  // Without a date, times count from the beginning of the recording.
  const originNs = absolute ? (unixOriginNs ?? 0n) : -BigInt(Math.round(range.start))
  const names = new Map(channels.map(({ info, name }) => [info.topic, name]))
  const timeline = makeTimeline(collection.kept, channels.length, range)
  const longSilences = silences.filter(({ start, end }) => end - start >= thresholds.segment.silenceNs)
  const cuts = cutSegments(
    range,
    collection.markers,
    longSilences,
    options.segmentNs ?? thresholds.segment.defaultWindowNs,
  )
  return {
    readable: true,
    absolute,
    startNs: at(originNs, range.start),
    endNs: at(originNs, range.end),
    channels: channels.map((channel) => toChannel(channel, originNs)),
    issues: issues.sort(worstFirst).map((found) => toIssue(found, names, originNs)),
    segments: describeSegments(cuts, collection, channels, issues, timeline, range, originNs),
    timeline: { startNs: at(originNs, range.start), binNs: timeline.binNs, rows: timeline.bins },
  }
}

function judgeChannels(
  { channels, originNs }: Collection,
  timebase: Timebase,
  expected: ExpectedChannel[],
): Judged[] {
  const given = new Map(expected.map((channel) => [channel.topic, channel]))
  const named = nameChannels(channels.map(({ info }) => info))
  const names = uniqueNames(
    channels.map(({ info }, index) => given.get(info.topic)?.name ?? named[index]?.name ?? 'other'),
    channels.map(({ info }) => `${given.has(info.topic) ? '' : '\uffff'}${info.topic}`),
  )
  return channels.map((channel, index) => {
    const pairs = channel.contents.pairs()
    return {
      ...channel,
      index,
      name: names[index] ?? 'other',
      expectedRateHz: given.get(channel.info.topic)?.rateHz,
      kind: named[index]?.kind ?? 'other',
      stats: channel.times.finish(),
      // Stamps are Unix time: beside a clock that counts from boot they say nothing.
      clock: timebase.kind === 'unix' ? fitClock(pairs, originNs()) : undefined,
    }
  })
}

function liveChannels(channels: Judged[]): number[] {
  return channels.filter(({ info, stats }) => !info.latched && stats.count > 0).map(({ index }) => index)
}

function checkChannel(channel: Judged, range: Range, stalls: Range[]): FoundIssue[] {
  const { info, kind, stats, clock } = channel
  const timed = {
    topic: info.topic,
    kind,
    encoding: info.encoding,
    times: stats,
    latched: info.latched ?? false,
    timesComputed: info.timesComputed ?? false,
    declaredRateHz: channel.expectedRateHz ?? info.declaredRateHz,
  }
  if (stats.count > stats.outliers.count && !isInside(stats, range)) {
    return [
      issue('timestamp_invalid', {
        topic: info.topic,
        detail: `all ${stats.count} messages are far away from the rest of the recording; they were left out of its times`,
        count: stats.count,
      }),
    ]
  }
  return [...checkChannelTimes(timed, range, stalls), ...(clock ? checkClock(info.topic, clock) : [])]
}

async function contentIssues(collection: Collection, channels: Judged[]): Promise<FoundIssue[]> {
  const found: FoundIssue[] = []
  for (const { contents } of channels) found.push(...(await contents.issues()))
  return [...found, ...collection.tree.issues()]
}

function isDate(unixOriginNs: bigint, { start }: Range): boolean {
  return unixOriginNs + BigInt(Math.round(start)) >= thresholds.earliestUnixNs
}

function checkEpoch(timebase: Timebase, unixOriginNs: bigint | undefined, range: Range): FoundIssue[] {
  if (timebase.kind !== 'unix' || unixOriginNs === undefined || isDate(unixOriginNs, range)) return []
  return [
    issue('clock_simulated', {
      detail: 'the times of recording lie before the year 2000: a simulation, or a clock that was never set',
    }),
  ]
}

function checkMissing(channels: Judged[], expected: ExpectedChannel[]): FoundIssue[] {
  const there = new Set(channels.filter(({ stats }) => stats.count > 0).map(({ info }) => info.topic))
  return expected
    .filter(({ topic }) => !there.has(topic))
    .map(({ topic }) =>
      issue('channel_missing', { topic, detail: `${topic} is usually there and is not in this recording` }),
    )
}

/** A camera counts as calibrated when anything called its info lies beside it, or the store has its intrinsics. */
function checkCalibration(
  channels: Judged[],
  { expected = [], calibrationVersion }: AnalyseOptions,
): FoundIssue[] {
  const stored = new Set(expected.filter(({ hasIntrinsics }) => hasIntrinsics).map(({ topic }) => topic))
  const isInfo = ({ info }: Judged) => /camera_?info|cameracalibration/i.test(info.schema)
  const folders = new Set(channels.filter(isInfo).map(({ info }) => parent(info.topic)))
  const missing = channels
    .filter((channel) => channel.kind === 'camera' && !isInfo(channel) && /image/i.test(channel.info.schema))
    .filter(
      ({ info }) =>
        !stored.has(info.topic) &&
        !folders.has(parent(info.topic)) &&
        !folders.has(parent(parent(info.topic))),
    )
    .map(({ info }) =>
      issue('calibration_missing', {
        topic: info.topic,
        detail: 'no camera info is recorded for this camera',
      }),
    )
  const applied = calibrationVersion
    ? [
        issue('calibration_applied', {
          detail: `version ${calibrationVersion} of the calibration of the device was applied`,
        }),
      ]
    : []
  return [...missing, ...applied]
}

function parent(topic: string): string {
  return topic.slice(0, Math.max(0, topic.lastIndexOf('/')))
}

function fromFinding(
  { channel, ...finding }: Collection['findings'][number],
  channels: Judged[],
): FoundIssue {
  const topic = channel === undefined ? '' : (channels[channel]?.info.topic ?? '')
  return issue(finding.code, { ...finding, topic })
}

/** One issue for each channel and code: the first says it, the others are counted. */
function merge(issues: FoundIssue[]): FoundIssue[] {
  const merged = new Map<string, FoundIssue>()
  for (const found of issues) {
    const key = `${found.code}\0${found.topic}`
    const known = merged.get(key)
    if (!known) merged.set(key, found)
    else merged.set(key, { ...known, count: (known.count ?? 1) + (found.count ?? 1) })
  }
  return [...merged.values()]
}

function at(originNs: bigint, t: number): bigint {
  return originNs + BigInt(Math.round(t))
}

function toChannel({ info, name, kind, stats, clock }: Judged, originNs: bigint): AnalysedChannel {
  const told = stats.count > stats.outliers.count
  const { future: _, ...model } = clock ?? { future: undefined }
  return {
    name,
    kind,
    topic: info.topic,
    schema: info.schema,
    encoding: info.encoding,
    count: stats.count,
    bytes: stats.bytes,
    firstNs: told ? at(originNs, stats.first) : null,
    lastNs: told ? at(originNs, stats.last) : null,
    rateHz: stats.medianNs === undefined ? null : 1e9 / stats.medianNs,
    jitterNs: stats.jitterNs ?? null,
    largestGapNs: stats.gaps[0]?.ns ?? null,
    clock: clock ? (model as AnalysedChannel['clock']) : null,
  }
}

function toIssue(found: FoundIssue, names: Map<string, string>, originNs: bigint): AnalysedIssue {
  const { code, severity, topic, detail, t, count, value, threshold } = found
  return {
    code,
    severity,
    channel: topic === '' ? '' : (names.get(topic) ?? topic),
    detail,
    ...(t !== undefined && { tNs: at(originNs, t) }),
    ...(count !== undefined && { count }),
    ...(value !== undefined && { value }),
    ...(threshold !== undefined && { threshold }),
  }
}

function describeSegments(
  cuts: Cut[],
  { kept }: Collection,
  channels: Judged[],
  issues: FoundIssue[],
  timeline: Timeline,
  range: Range,
  originNs: bigint,
): AnalysedSegment[] {
  const counts = cuts.map(() => new Float64Array(channels.length))
  for (const { index } of channels) {
    const { times, weight } = kept.of(index)
    for (const t of times) {
      const segment = counts[segmentAt(cuts, t)]
      if (segment && t >= range.start && t <= range.end) segment[index] = (segment[index] ?? 0) + weight
    }
  }
  return cuts.map((cut, index) => {
    const seconds = (cut.end - cut.start) / 1e9
    const inside = channels
      .map(({ name, index: channel }) => ({ name, count: counts[index]?.[channel] ?? 0 }))
      .filter(({ count }) => count > 0)
    return {
      index,
      startNs: at(originNs, cut.start),
      endNs: at(originNs, cut.end),
      why: cut.why,
      label: cut.label,
      channels: inside.map(({ name, count }) => ({ name, count, rateHz: seconds > 0 ? count / seconds : 0 })),
      issues: [
        ...new Set(
          issues.filter(({ t }) => t !== undefined && t >= cut.start && t < cut.end).map(({ code }) => code),
        ),
      ].sort(),
      messages: inside.reduce((sum, { count }) => sum + count, 0),
      activity: activityIn(cut, timeline, range),
    }
  })
}

/** The last segment that starts at or before a time. */
function segmentAt(cuts: Cut[], t: number): number {
  let [low, high] = [0, cuts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((cuts[middle]?.start ?? 0) <= t) low = middle
    else high = middle - 1
  }
  return low
}

function activityIn(cut: Cut, { binNs, bins }: Timeline, range: Range): number {
  if (binNs === 0) return 1
  const first = Math.floor((cut.start - range.start) / binNs)
  const last = Math.max(first + 1, Math.ceil((cut.end - range.start) / binNs))
  let active = 0
  for (let bin = first; bin < last; bin++) if (bins.some((row) => (row[bin] ?? 0) > 0)) active++
  return Math.min(1, active / (last - first))
}
