import { deflateRawSync } from 'node:zlib'
import type { AnalysedChannel, AnalysedIssue, AnalysedSegment, Analysis } from '@tapedeck/analysis'
import type { Issue } from '@tapedeck/contract'
import type { Clock } from '../clock.ts'
import { exactInteger } from '../exact-json.ts'
import { newId } from '../ids.ts'
import { move, type SessionRecord, type Trx, toObject } from '../sessions/session.ts'
import { type Announcer, announce } from '../webhooks/plan.ts'

// Everything that processing yields, the state and the event, in one transaction. A session that was deleted
// meanwhile, or moved on by another, gets nothing.

/** Raised whenever the same recording would be understood differently. */
export const PROCESSOR_VERSION = 1

export type Processor = { version: number; segment_s: number; calibration_version: number | null }

export async function writeResult(
  announcer: Announcer,
  trx: Trx,
  sessionId: string,
  analysis: Analysis,
  processor: Processor,
): Promise<void> {
  const issues = analysis.issues.map(toIssue)
  const to = analysis.readable ? 'processed' : 'failed'
  const session = await move(trx, sessionId, 'processing', to, {
    recorded_at:
      analysis.readable && analysis.absolute ? new Date(Number(analysis.startNs / 1_000_000n)) : null,
    duration_s: analysis.readable ? Number(analysis.endNs - analysis.startNs) / 1e9 : null,
    channels: analysis.channels.map(({ name }) => name),
    segment_count: analysis.segments.length,
    issues: JSON.stringify(issues),
    format: analysis.format ?? null,
    processor: JSON.stringify(processor),
    processing_stage: null,
    processing_fraction: null,
    processed_at: analysis.readable ? new Date(announcer.clock.now()) : null,
  })
  if (!session) return
  await clear(trx, sessionId)
  await insertChannels(trx, sessionId, analysis.channels)
  await insertTimeline(trx, sessionId, analysis)
  await insertSegments(trx, session, analysis, announcer.clock)
  await insertFacets(trx, session, analysis, issues)
  await tell(announcer, trx, session, issues)
}

function toIssue({ tNs, ...issue }: AnalysedIssue): Issue {
  return { ...issue, ...(tNs !== undefined && { t_ns: exactInteger(tNs) }) }
}

/** What an earlier version of the processor had found. */
async function clear(trx: Trx, sessionId: string): Promise<void> {
  await trx.deleteFrom('channels').where('session_id', '=', sessionId).execute()
  await trx.deleteFrom('timelines').where('session_id', '=', sessionId).execute()
  await trx.deleteFrom('segments').where('session_id', '=', sessionId).execute()
  await trx.deleteFrom('session_facets').where('session_id', '=', sessionId).execute()
}

const BATCH = 500

async function inBatches<T>(rows: T[], insert: (batch: T[]) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < rows.length; start += BATCH) await insert(rows.slice(start, start + BATCH))
}

async function insertChannels(trx: Trx, sessionId: string, channels: AnalysedChannel[]): Promise<void> {
  const rows = channels.map((channel, position) => ({
    session_id: sessionId,
    position,
    name: channel.name,
    kind: channel.kind,
    topic: channel.topic,
    schema: channel.schema,
    encoding: channel.encoding,
    message_count: channel.count,
    bytes: Math.round(channel.bytes),
    first_ns: channel.firstNs,
    last_ns: channel.lastNs,
    rate_hz: channel.rateHz,
    jitter_ns: channel.jitterNs,
    largest_gap_ns: channel.largestGapNs,
    clock: channel.clock && JSON.stringify(channel.clock),
  }))
  await inBatches(rows, (batch) => trx.insertInto('channels').values(batch).execute())
}

async function insertTimeline(trx: Trx, sessionId: string, { timeline }: Analysis): Promise<void> {
  const [first] = timeline.rows
  if (!first) return
  const counts = Buffer.concat(
    timeline.rows.map((row) => new Uint8Array(row.buffer, row.byteOffset, row.byteLength)),
  )
  await trx
    .insertInto('timelines')
    .values({
      session_id: sessionId,
      start_ns: timeline.startNs,
      bin_ns: timeline.binNs,
      bin_count: first.length,
      counts: deflateRawSync(counts),
    })
    .execute()
}

async function insertSegments(
  trx: Trx,
  session: SessionRecord,
  analysis: Analysis,
  clock: Clock,
): Promise<void> {
  const kindOf = new Map(analysis.channels.map(({ name, kind }) => [name, kind]))
  const severityOf = new Map(analysis.issues.map(({ code, severity }) => [code, severity]))
  // Lists give the highest id first: so those of one session come in the order of time.
  const ids = analysis.segments.map(() => newId('seg', clock.now())).sort()
  const toRow = (segment: AnalysedSegment) => ({
    id: ids.pop() ?? newId('seg', clock.now()),
    organisation_id: session.organisation_id,
    session_id: session.id,
    position: segment.index,
    start_ns: segment.startNs,
    end_ns: segment.endNs,
    started_at: analysis.absolute ? new Date(Number(segment.startNs / 1_000_000n)) : null,
    duration_s: Number(segment.endNs - segment.startNs) / 1e9,
    cut: segment.why,
    label: segment.label,
    site: session.site,
    device: session.device,
    channels: JSON.stringify(
      segment.channels.map(({ name, count, rateHz }) => ({ name, message_count: count, rate_hz: rateHz })),
    ),
    channel_names: segment.channels.map(({ name }) => name),
    kinds: [...new Set(segment.channels.map(({ name }) => kindOf.get(name) ?? 'other'))],
    issues: segment.issues,
    severities: [...new Set(segment.issues.map((code) => severityOf.get(code) ?? 'info'))],
    message_count: segment.messages,
    activity: segment.activity,
    created_at: session.created_at,
  })
  await inBatches(analysis.segments, (batch) => trx.insertInto('segments').values(batch.map(toRow)).execute())
}

/** What lists of sessions and segments are filtered by. */
async function insertFacets(
  trx: Trx,
  session: SessionRecord,
  { channels }: Analysis,
  issues: Issue[],
): Promise<void> {
  const values = {
    channel: session.channels,
    kind: channels.map(({ kind }) => kind),
    issue: issues.map(({ code }) => code),
    severity: issues.map(({ severity }) => severity),
  }
  const facets = (['channel', 'kind', 'issue', 'severity'] as const).flatMap((facet) =>
    [...new Set<string>(values[facet])].map((value) => ({ facet, value })),
  )
  const rows = facets.map((facet) => ({
    ...facet,
    organisation_id: session.organisation_id,
    created_at: session.created_at,
    session_id: session.id,
  }))
  await inBatches(rows, (batch) => trx.insertInto('session_facets').values(batch).execute())
}

async function tell(announcer: Announcer, trx: Trx, session: SessionRecord, issues: Issue[]): Promise<void> {
  const { id, object, status, segment_count } = toObject(session)
  const failed = status === 'failed'
  await announce(announcer, trx, {
    organisationId: session.organisation_id,
    type: failed ? 'session.failed' : 'session.processed',
    object: { id, object, status, segment_count, ...(failed && { issues }) },
  })
}
