import { DEFAULT_PAGE_SIZE, type SearchSegments, type SegmentList } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { afterCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import { invalid } from '../errors.ts'
import { parseTime } from '../time.ts'
import { segmentColumns, toObject } from './segment.ts'

const MAX_CHANNELS = 20

/** Segments of the organisation, those of the newest session first. */
export async function searchSegments(
  { db, cursorKey }: { db: Db; cursorKey: Buffer },
  caller: Caller,
  { limit = DEFAULT_PAGE_SIZE, cursor, ...filters }: SearchSegments,
): Promise<SegmentList> {
  const identity = ['segments', caller.organisationId, filters]
  const rows = await matching(db, caller.organisationId, filters)
    .where(afterCursor(cursorKey, identity, cursor))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .select(segmentColumns)
    .limit(limit + 1)
    .execute()
  return toPage(cursorKey, identity, rows, limit, toObject)
}

function matching(db: Db, organisationId: string, filters: Omit<SearchSegments, 'limit' | 'cursor'>) {
  let query = db.selectFrom('segments').where('organisation_id', '=', organisationId)
  if (filters.session !== undefined) query = query.where('session_id', '=', filters.session)
  if (filters.site !== undefined) query = query.where('site', '=', filters.site)
  if (filters.device !== undefined) query = query.where('device', '=', filters.device)
  if (filters.channel !== undefined)
    query = query.where(sql<boolean>`channel_names @> ${channelsIn(filters.channel)}::text[]`)
  if (filters.kind !== undefined) query = query.where(sql<boolean>`kinds @> ${[filters.kind]}::text[]`)
  if (filters.issue !== undefined) query = query.where(sql<boolean>`issues @> ${[filters.issue]}::text[]`)
  if (filters.severity !== undefined)
    query = query.where(sql<boolean>`severities @> ${[filters.severity]}::text[]`)
  const [from, before] = [filters['recorded[gte]'], filters['recorded[lt]']]
  if (from !== undefined) query = query.where('started_at', '>=', parseTime('recorded[gte]', from))
  if (before !== undefined) query = query.where('started_at', '<', parseTime('recorded[lt]', before))
  const [atLeast, shorter] = [filters['duration[gte]'], filters['duration[lt]']]
  if (atLeast !== undefined) query = query.where('duration_s', '>=', Number(atLeast))
  if (shorter !== undefined) query = query.where('duration_s', '<', Number(shorter))
  if (filters.text !== undefined) {
    query = query.where(
      sql<boolean>`session_id in (select id from sessions
        where organisation_id = ${organisationId} and search @@ plainto_tsquery('simple', ${filters.text}))`,
    )
  }
  return query
}

function channelsIn(text: string): string[] {
  const names = text.split(',').filter((name) => name !== '')
  if (names.length === 0 || names.length > MAX_CHANNELS) {
    throw invalid('channel', `channel must name 1 to ${MAX_CHANNELS} channels, separated by commas`)
  }
  return names
}
