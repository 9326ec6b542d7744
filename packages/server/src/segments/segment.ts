import type { Segment } from '@tapedeck/contract'
import type { Selectable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { ApiError } from '../errors.ts'
import { exactInteger } from '../exact-json.ts'
import { isId } from '../ids.ts'

const columns = [
  'id',
  'organisation_id',
  'session_id',
  'position',
  'start_ns',
  'end_ns',
  'started_at',
  'duration_s',
  'cut',
  'label',
  'site',
  'device',
  'channels',
  'issues',
  'message_count',
  'activity',
  'created_at',
] as const
export const segmentColumns = columns.map((column) => `segments.${column}` as const)
export type SegmentRow = Pick<Selectable<Tables['segments']>, (typeof columns)[number]>

export async function retrieveSegment({ db }: { db: Db }, caller: Caller, id: string): Promise<Segment> {
  const row = isId('seg', id)
    ? await db.selectFrom('segments').select(segmentColumns).where('id', '=', id).executeTakeFirst()
    : undefined
  if (!row) throw new ApiError('segment_not_found', `there is no segment ${id.slice(0, 64)}`)
  if (row.organisation_id !== caller.organisationId) {
    throw new ApiError('organisation_mismatch', `segment ${id} belongs to another organisation`)
  }
  return toObject(row)
}

export function toObject(row: SegmentRow): Segment {
  return {
    id: row.id,
    object: 'segment',
    session: row.session_id,
    index: row.position,
    t_start_ns: exactInteger(row.start_ns),
    t_end_ns: exactInteger(row.end_ns),
    started_at: row.started_at?.toISOString() ?? null,
    duration_s: row.duration_s,
    cut: row.cut as Segment['cut'],
    label: row.label,
    site: row.site,
    device: row.device,
    channels: row.channels as Segment['channels'],
    message_count: row.message_count,
    issues: row.issues,
    activity: row.activity,
    created_at: row.created_at.toISOString(),
  }
}
