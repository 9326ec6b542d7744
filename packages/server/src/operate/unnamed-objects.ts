import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MAX_PART_MS } from '../sessions/parts.ts'
import { partOf } from '../storage/object-name.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'

// Which objects no row names, and never will. A part gets its row only while its session is uploading, and within days
// of its first byte. So an object without a row is left over for certain
//   - when its session was completed: nothing is added to it any more, whatever clocks say;
//   - when its session was deleted, here;
//   - when its session is still uploading, but the object is older than any part that may still get a row.
// Objects of a session that this database has never known are not ours to judge: the bucket may serve another database
// too, or this one was restored from a backup that is older than they are. They are counted, and left.

const DAY_MS = 24 * 3600_000
/** By the storage's clock: far above the time that a part may take, and what clocks may differ. */
export const ABANDONED_MS = MAX_PART_MS + 4 * DAY_MS
/** Some are kept before their rows are written, sessions and all: the samples of a sandbox. */
const UNKNOWN_MS = DAY_MS

export type Findings = {
  /** Left over in sessions that are there. */
  leftOver: string[]
  /** Of sessions that were deleted; the whole of them may go. */
  deletedSessions: string[]
  ofDeleted: string[]
  /** Of sessions that this database has never known, and what has no name of ours. */
  unknown: string[]
}

/** Looks a page of objects up, in one query. */
export async function findUnnamed(db: Db, objects: StoredObject[]): Promise<Findings> {
  const found: Findings = { leftOver: [], deletedSessions: [], ofDeleted: [], unknown: [] }
  const ours: Candidate[] = []
  for (const { name, ageMs } of objects) {
    const part = partOf(name)
    if (part) ours.push({ name, ageMs, ...part })
    else if (ageMs >= UNKNOWN_MS) found.unknown.push(name)
  }
  const deleted = new Set<string>()
  for (const { place, verdict } of await judge(db, ours)) {
    const { name, sessionId, ageMs } = ours[place - 1] ?? { name: '', sessionId: '', ageMs: 0 }
    if (verdict === 'deleted') {
      deleted.add(sessionId)
      found.ofDeleted.push(name)
    } else if (verdict === 'unknown' && ageMs >= UNKNOWN_MS) found.unknown.push(name)
    else if (verdict === 'closed' || (verdict === 'uploading' && ageMs >= ABANDONED_MS))
      found.leftOver.push(name)
  }
  found.deletedSessions = [...deleted]
  return found
}

type Candidate = StoredObject & { sessionId: string; number: number }
type Judged = { place: number; verdict: 'deleted' | 'unknown' | 'closed' | 'uploading' }

/** One snapshot for all of it: a session that is closed in it has all the parts in it that it will ever have. */
async function judge(db: Db, candidates: Candidate[]): Promise<Judged[]> {
  if (candidates.length === 0) return []
  const { rows } = await sql<Judged>`
    select found.place::int as place, case
        when session.status = 'uploading' then 'uploading'
        when session.id is not null then 'closed'
        when deleted.session_id is not null then 'deleted'
        else 'unknown' end as verdict
    from unnest(
      ${candidates.map(({ name }) => name)}::text[],
      ${candidates.map(({ sessionId }) => sessionId)}::text[],
      ${candidates.map(({ number }) => number)}::int[]
    ) with ordinality as found (object, session_id, number, place)
    left join sessions session on session.id = found.session_id
    left join deleted_sessions deleted on deleted.session_id = found.session_id
    where not exists (
      select 1 from parts part
      where part.session_id = found.session_id and part.number = found.number and part.object = found.object)`.execute(
    db,
  )
  return rows
}

/** Removes what is left over and what is of deleted sessions. What is unknown stays. */
export async function removeUnnamed(
  storage: Storage,
  { leftOver, deletedSessions }: Findings,
): Promise<void> {
  if (leftOver.length > 0) await storage.remove(leftOver)
  for (const sessionId of deletedSessions) await storage.removeSession(sessionId)
}
