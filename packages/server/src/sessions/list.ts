import { DEFAULT_PAGE_SIZE, type ListSessions, type SessionList } from '@tapedeck/contract'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { type Place, readCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { parseTime } from '../time.ts'
import { sessionColumns, toObject } from './session.ts'

type Deps = { db: Db; cursorKey: Buffer }

/** One page, newest first by (created_at, id); rows created while a client pages never shift it. */
export async function list(
  { db, cursorKey }: Deps,
  caller: Caller,
  input: ListSessions,
): Promise<SessionList> {
  const { limit = DEFAULT_PAGE_SIZE, cursor, ...given } = input
  const filters = readFilters(given)
  const identity = ['sessions', caller.organisationId, filters]
  const after = cursor === undefined ? undefined : readCursor(cursorKey, identity, cursor)
  const rows = await newestFirst(db, caller.organisationId, filters, after)
    .select(sessionColumns)
    .limit(limit + 1)
    .execute()
  return toPage(cursorKey, identity, rows, limit, toObject)
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

function newestFirst(db: Db, organisationId: string, filters: Filters, after: Place | undefined) {
  let query = from(db, organisationId, filters)
  // The facet's own columns lead where there is one, so that its index gives the order.
  const [createdAt, id] =
    filters.channel || filters.issue
      ? (['facet.created_at', 'facet.session_id'] as const)
      : (['sessions.created_at', 'sessions.id'] as const)
  query = query.where('sessions.organisation_id', '=', organisationId)
  if (filters.site !== undefined) query = query.where('site', '=', filters.site)
  if (filters.device !== undefined) query = query.where('device', '=', filters.device)
  if (filters.status !== undefined) query = query.where('status', '=', filters.status)
  if (filters.createdFrom) query = query.where(sql.ref(createdAt), '>=', filters.createdFrom)
  if (filters.createdBefore) query = query.where(sql.ref(createdAt), '<', filters.createdBefore)
  if (filters.recordedFrom) query = query.where('recorded_at', '>=', filters.recordedFrom)
  if (filters.recordedBefore) query = query.where('recorded_at', '<', filters.recordedBefore)
  if (after)
    query = query.where(
      sql<boolean>`(${sql.ref(createdAt)}, ${sql.ref(id)}) < (${after.createdAt}, ${after.id})`,
    )
  return query.orderBy(sql.ref(createdAt), 'desc').orderBy(sql.ref(id), 'desc')
}

function from(
  db: Db,
  organisationId: string,
  { channel, issue }: Filters,
): SelectQueryBuilder<Tables, 'sessions', object> {
  if (channel === undefined && issue === undefined) return db.selectFrom('sessions')
  const [facet, value] =
    channel !== undefined ? (['channel', channel] as const) : (['issue', issue ?? ''] as const)
  const joined = db
    .selectFrom('sessions')
    .innerJoin('session_facets as facet', 'facet.session_id', 'sessions.id')
    .where('facet.organisation_id', '=', organisationId)
    .where('facet.facet', '=', facet)
    .where('facet.value', '=', value)
  if (channel === undefined || issue === undefined) return joined
  return joined.where(({ exists, selectFrom }) =>
    exists(
      selectFrom('session_facets as other')
        .select('other.session_id')
        .whereRef('other.session_id', '=', 'sessions.id')
        .where('other.facet', '=', 'issue')
        .where('other.value', '=', issue),
    ),
  )
}
