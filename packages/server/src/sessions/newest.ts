import { sql } from 'kysely'
import type { Place } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import { statement } from '../db/statement.ts'
import { type SessionRecord, sessionColumns } from './session.ts'

// The page that is asked for most: the newest sessions of an organisation, whatever they are. One plan is the best for all
// of them as long as it knows how many rows are wanted, so there is a statement for each length.

type Pages = ReturnType<typeof pagesOf>

/** No more than there are lengths of a page. */
const pages = new Map<number, Pages>()

export function newest(
  db: Db,
  organisationId: string,
  after: Place | undefined,
  limit: number,
): Promise<SessionRecord[]> {
  const { first, next } = pages.get(limit) ?? pagesOf(limit)
  return after ? next(db, organisationId, after.createdAt, after.id) : first(db, organisationId)
}

function pagesOf(limit: number) {
  const page = (db: Db) =>
    db
      .selectFrom('sessions')
      .select(sessionColumns)
      .where('organisation_id', '=', '')
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(sql.lit(limit))
  const made = {
    first: statement<SessionRecord>(page),
    next: statement<SessionRecord>((db) => page(db).where(sql<boolean>`(created_at, id) < (${''}, ${''})`)),
  }
  pages.set(limit, made)
  return made
}
