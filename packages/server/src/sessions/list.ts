import { DEFAULT_PAGE_SIZE, type ListSessions, type SessionList } from '@tapedeck/contract'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { type Place, readCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import type { Keys } from '../secrets.ts'
import { parseTime } from '../time.ts'
import { newest } from './newest.ts'
import { type SessionRecord, sessionColumns, toObject } from './session.ts'

type Deps = { db: Db; cursorKeys: Keys }

/** One page, newest first by (created_at, id); rows created while a client pages never shift it. */
export async function list(
  { db, cursorKeys }: Deps,
  caller: Caller,
  input: ListSessions,
): Promise<SessionList> {
  const { limit = DEFAULT_PAGE_SIZE, cursor, ...given } = input
  const filters = readFilters(given)
  const identity = ['sessions', caller.organisationId, filters]
  const after = cursor === undefined ? undefined : readCursor(cursorKeys, identity, cursor)
  const rows = await read(db, caller.organisationId, filters, after, limit + 1)
  return toPage(cursorKeys, identity, rows, limit, toObject)
}

async function read(
  db: Db,
  organisationId: string,
  filters: Filters,
  after: Place | undefined,
  limit: number,
): Promise<SessionRecord[]> {
  if (isPlain(filters)) return newest(db, organisationId, after, limit)
  const matching = filtered(db, organisationId, filters, after).select(sessionColumns)
  return newestFirst(db, matching, filters, limit).execute()
}

type Filters = ReturnType<typeof readFilters>

function readFilters(given: Omit<ListSessions, 'limit' | 'cursor'>) {
  const time = (name: 'created[gte]' | 'created[lt]' | 'recorded[gte]' | 'recorded[lt]') => {
    const text = given[name]
    return text === undefined ? undefined : parseTime(name, text)
  }
  return {
    site: given.site,
    device: given.device,
    status: given.status,
    channel: given.channel,
    issue: given.issue,
    createdFrom: time('created[gte]'),
    createdBefore: time('created[lt]'),
    recordedFrom: time('recorded[gte]'),
    recordedBefore: time('recorded[lt]'),
  }
}

function filtered(db: Db, organisationId: string, filters: Filters, after: Place | undefined) {
  let query = withFacets(db, organisationId, filters).where('sessions.organisation_id', '=', organisationId)
  const [createdAt, id] = orderOf(filters)
  if (filters.site !== undefined) query = query.where('site', '=', filters.site)
  if (filters.device !== undefined) query = query.where('device', '=', filters.device)
  if (filters.status !== undefined) query = query.where('status', '=', filters.status)
  if (filters.createdFrom) query = query.where(createdAt, '>=', filters.createdFrom)
  if (filters.createdBefore) query = query.where(createdAt, '<', filters.createdBefore)
  if (filters.recordedFrom) query = query.where('recorded_at', '>=', filters.recordedFrom)
  if (filters.recordedBefore) query = query.where('recorded_at', '<', filters.recordedBefore)
  if (!after) return query
  return query
    .where(sql<boolean>`(${createdAt}, ${id}) < (${after.createdAt}, ${after.id})`)
    .where(createdAt, '<=', after.createdAt)
}

/** One facet leads with its index, which is in the order of the list; others are looked up for each session. */
function withFacets(
  db: Db,
  organisationId: string,
  filters: Filters,
): SelectQueryBuilder<Tables, 'sessions', object> {
  const leading = leadingFacet(filters)
  let query: SelectQueryBuilder<Tables, 'sessions', object> = db.selectFrom('sessions')
  for (const [facet, value] of facetsOf(filters)) {
    if (facet === leading) {
      query = query
        .innerJoin('session_facets as facet', 'facet.session_id', 'sessions.id')
        .where('facet.organisation_id', '=', organisationId)
        .where('facet.facet', '=', facet)
        .where('facet.value', '=', value)
      continue
    }
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('session_facets as other')
          .select('other.session_id')
          .whereRef('other.session_id', '=', 'sessions.id')
          .where('other.organisation_id', '=', organisationId)
          .where('other.facet', '=', facet)
          .where('other.value', '=', value),
      ),
    )
  }
  return query
}

function facetsOf({ channel, issue }: Filters) {
  const facets: ['channel' | 'issue', string][] = []
  if (channel !== undefined) facets.push(['channel', channel])
  if (issue !== undefined) facets.push(['issue', issue])
  return facets
}

/** A recorded time has an index with an order of its own. */
function leadingFacet(filters: Filters) {
  return isByRecorded(filters) ? undefined : facetsOf(filters)[0]?.[0]
}

function isByRecorded({ recordedFrom, recordedBefore }: Filters): boolean {
  return recordedFrom !== undefined || recordedBefore !== undefined
}

function isPlain(filters: Filters): boolean {
  return Object.values(filters).every((filter) => filter === undefined)
}

function orderOf(filters: Filters): [RawBuilder<unknown>, RawBuilder<unknown>] {
  return leadingFacet(filters) === undefined
    ? [sql.ref('sessions.created_at'), sql.ref('sessions.id')]
    : [sql.ref('facet.created_at'), sql.ref('facet.session_id')]
}

function newestFirst<Row>(
  db: Db,
  matching: SelectQueryBuilder<Tables, 'sessions', Row>,
  filters: Filters,
  limit: number,
) {
  const [createdAt, id] = orderOf(filters)
  if (!isByRecorded(filters)) return matching.orderBy(createdAt, 'desc').orderBy(id, 'desc').limit(limit)
  // The nearest to a time that never comes are the newest: so the index of both times is asked. It knows no ids,
  // so sessions of the same millisecond come together and are put in order afterwards.
  const nearest = matching.orderBy(sql`${createdAt} <-> timestamptz '2100-01-01'`).fetch(limit, 'with ties')
  return db
    .selectFrom(nearest.as('nearest'))
    .selectAll()
    .orderBy(sql.ref('created_at'), 'desc')
    .orderBy(sql.ref('id'), 'desc')
    .limit(limit)
}
