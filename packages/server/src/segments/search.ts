import { DEFAULT_PAGE_SIZE, type SearchSegments, type SegmentList } from '@tapedeck/contract'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { type Place, readCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { invalid } from '../errors.ts'
import type { Keys } from '../secrets.ts'
import { parseTime } from '../time.ts'
import { segmentColumns, toObject } from './segment.ts'

// A page costs the same however many segments there are: one filter leads with an index that is in the order of the list,
// the others are looked at on the way. Segments come in the order of their sessions, so facets of sessions can lead.

const MAX_CHANNELS = 20
/** So many are looked for one by one. */
const MAX_SESSIONS = 1000

/** Segments of the organisation, those of the newest session first. */
export async function searchSegments(
  { db, cursorKeys }: { db: Db; cursorKeys: Keys },
  caller: Caller,
  { limit = DEFAULT_PAGE_SIZE, cursor, ...given }: SearchSegments,
): Promise<SegmentList> {
  const filters = readFilters(given)
  const identity = ['segments', caller.organisationId, given]
  const after = cursor === undefined ? undefined : readCursor(cursorKeys, identity, cursor)
  const found =
    filters.text === undefined ? undefined : await sessionsWith(db, caller.organisationId, filters.text)
  const matching = filtered(db, caller.organisationId, filters, after, found).select(segmentColumns)
  const rows = await newestFirst(db, matching, filters, limit + 1).execute()
  return toPage(cursorKeys, identity, rows, limit, toObject)
}

type Filters = ReturnType<typeof readFilters>

function readFilters(given: Omit<SearchSegments, 'limit' | 'cursor'>) {
  const time = (name: 'recorded[gte]' | 'recorded[lt]') => {
    const text = given[name]
    return text === undefined ? undefined : parseTime(name, text)
  }
  const seconds = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  const { session, site, device, channel, kind, issue, severity, text } = given
  return {
    session,
    site,
    device,
    channels: channel === undefined ? [] : channelsIn(channel),
    kind,
    issue,
    severity,
    text,
    recordedFrom: time('recorded[gte]'),
    recordedBefore: time('recorded[lt]'),
    atLeastS: seconds(given['duration[gte]']),
    shorterS: seconds(given['duration[lt]']),
  }
}

function channelsIn(text: string): string[] {
  const names = text.split(',').filter((name) => name !== '')
  if (names.length === 0 || names.length > MAX_CHANNELS) {
    throw invalid('channel', `channel must name 1 to ${MAX_CHANNELS} channels, separated by commas`)
  }
  return names
}

/** Ids of the sessions with these words; undefined where there are so many that they are met on the way. */
async function sessionsWith(db: Db, organisationId: string, text: string): Promise<string[] | undefined> {
  const rows = await db
    .selectFrom('sessions')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where(sql<boolean>`search @@ plainto_tsquery('simple', ${text})`)
    .limit(MAX_SESSIONS + 1)
    .execute()
  return rows.length > MAX_SESSIONS ? undefined : rows.map(({ id }) => id)
}

function filtered(
  db: Db,
  organisationId: string,
  filters: Filters,
  after: Place | undefined,
  sessions: string[] | undefined,
) {
  const { session, site, device, channels, kind, issue, severity, text } = filters
  let query = withFacet(db, organisationId, filters).where('segments.organisation_id', '=', organisationId)
  if (session !== undefined) query = query.where('segments.session_id', '=', session)
  if (site !== undefined) query = query.where('site', '=', site)
  if (device !== undefined) query = query.where('device', '=', device)
  if (channels.length > 0) query = query.where(sql<boolean>`channel_names @> ${channels}::text[]`)
  if (kind !== undefined) query = query.where(sql<boolean>`kinds @> ${[kind]}::text[]`)
  if (issue !== undefined) query = query.where(sql<boolean>`issues @> ${[issue]}::text[]`)
  if (severity !== undefined) query = query.where(sql<boolean>`severities @> ${[severity]}::text[]`)
  if (filters.recordedFrom) query = query.where('started_at', '>=', filters.recordedFrom)
  if (filters.recordedBefore) query = query.where('started_at', '<', filters.recordedBefore)
  if (filters.atLeastS !== undefined) query = query.where('duration_s', '>=', filters.atLeastS)
  if (filters.shorterS !== undefined) query = query.where('duration_s', '<', filters.shorterS)
  if (sessions) query = query.where(sql<boolean>`segments.session_id = any(${sessions}::text[])`)
  else if (text !== undefined) {
    query = query.where(
      sql<boolean>`segments.session_id in (select id from sessions
        where organisation_id = ${organisationId} and search @@ plainto_tsquery('simple', ${text}))`,
    )
  }
  if (!after) return query
  return query
    .where(sql<boolean>`(segments.created_at, segments.id) < (${after.createdAt}, ${after.id})`)
    .where(createdAt(filters), '<=', after.createdAt)
}

function withFacet(
  db: Db,
  organisationId: string,
  filters: Filters,
): SelectQueryBuilder<Tables, 'segments', object> {
  const facet = leadingFacet(filters)
  if (!facet) return db.selectFrom('segments')
  const query = db
    .selectFrom('segments')
    .innerJoin('session_facets as facet', 'facet.session_id', 'segments.session_id')
    .where('facet.organisation_id', '=', organisationId)
    .where('facet.facet', '=', facet.name)
    .where('facet.value', '=', facet.value)
  const { site, device } = filters
  if (site === undefined && device === undefined) return query
  // A session of another site is passed over by itself, not by each of its segments.
  return query.where(({ exists, selectFrom }) =>
    exists(
      selectFrom('sessions')
        .select('sessions.id')
        .whereRef('sessions.id', '=', 'facet.session_id')
        .$if(site !== undefined, (sessions) => sessions.where('sessions.site', '=', site ?? ''))
        .$if(device !== undefined, (sessions) => sessions.where('sessions.device', '=', device ?? '')),
    ),
  )
}

/** The one that most probably has the fewest sessions; none where another index has the order. */
function leadingFacet(filters: Filters) {
  const { session, channels, issue, kind, severity, text } = filters
  if (session !== undefined || text !== undefined || isRange(filters)) return undefined
  const rarest = channels.at(-1)
  if (issue !== undefined) return { name: 'issue' as const, value: issue }
  if (rarest !== undefined) return { name: 'channel' as const, value: rarest }
  if (kind !== undefined) return { name: 'kind' as const, value: kind }
  return severity === undefined ? undefined : { name: 'severity' as const, value: severity }
}

function isRange({ session, recordedFrom, recordedBefore, atLeastS, shorterS }: Filters): boolean {
  if (session !== undefined) return false
  return [recordedFrom, recordedBefore, atLeastS, shorterS].some((bound) => bound !== undefined)
}

function createdAt(filters: Filters): RawBuilder<unknown> {
  return sql.ref(leadingFacet(filters) ? 'facet.created_at' : 'segments.created_at')
}

function newestFirst<Row>(
  db: Db,
  matching: SelectQueryBuilder<Tables, 'segments', Row>,
  filters: Filters,
  limit: number,
) {
  if (!isRange(filters))
    return matching.orderBy(createdAt(filters), 'desc').orderBy('segments.id', 'desc').limit(limit)
  // The nearest to a time that never comes are the newest: so an index of both is asked. It knows no ids, so segments of
  // the same session come together and are put in order afterwards.
  const nearest = matching
    .orderBy(sql`segments.created_at <-> timestamptz '2100-01-01'`)
    .fetch(limit, 'with ties')
  return db
    .selectFrom(nearest.as('nearest'))
    .selectAll()
    .orderBy(sql.ref('created_at'), 'desc')
    .orderBy(sql.ref('id'), 'desc')
    .limit(limit)
}
