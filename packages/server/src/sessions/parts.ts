import type { SessionStatus } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { PartRow } from '../db/schema.ts'
import { statement } from '../db/statement.ts'
import { ApiError } from '../errors.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { partBytes, sessionNotFound } from './session.ts'

/** What the upload endpoint must know before it takes a byte. */
export type ExpectedPart = { sessionId: string; number: number; bytes: number; partCount: number }

const partPlan = statement((db) =>
  db.selectFrom('sessions').select(['status', 'bytes', 'part_size', 'part_count']).where('id', '=', ''),
)

export async function expectPart(db: Db, sessionId: string, number: number): Promise<ExpectedPart> {
  const [row] = await partPlan(db, sessionId)
  if (!row) throw sessionNotFound(sessionId)
  if (row.status !== 'uploading') throw uploadClosed(sessionId)
  return { sessionId, number, bytes: partBytes(row, number), partCount: row.part_count }
}

/**
 * From the first byte of a part to its row. The collector takes an object that has no row for one that never gets any
 * only when it is much older (`operate/unnamed-objects`); so a node that slept in between must not give it one.
 */
export const MAX_PART_MS = 3 * 24 * 3600_000

type StoredPart = Pick<PartRow, 'session_id' | 'number' | 'bytes' | 'sha256' | 'object'>

type Deps = { db: Db; jobs: Jobs }

/** Records a part that is durable. The last whole one wins. */
export async function recordPart(deps: Deps, part: StoredPart, deadline: Date): Promise<void> {
  // What was there may be gone when it is to be replaced: a part that the storage has lost is forgotten.
  while (!(await insertPart(deps, part, deadline)) && !(await replacePart(deps, part, deadline))) {}
}

/**
 * One statement, since nearly every part is the first of its number. The share lock makes a part and a completion see
 * each other. The deadline is judged by the database: we may fall asleep at any moment, it does not.
 */
async function insertPart({ db }: Deps, part: StoredPart, deadline: Date): Promise<boolean> {
  const { session_id, number, bytes, sha256, object } = part
  const { rows } = await sql<{ status: SessionStatus; in_time: boolean; inserted: boolean }>`
    with session as (
      select status, now() < ${deadline} as in_time from sessions where id = ${session_id} for share
    ), inserted as (
      insert into parts (session_id, number, bytes, sha256, object)
      select ${session_id}, ${number}, ${bytes}, ${sha256}, ${object}
      from session where status = 'uploading' and in_time
      on conflict do nothing
      returning number
    )
    select status, in_time, exists (select from inserted) as inserted from session`.execute(db)
  const [session] = rows
  return refuseUnlessOpen(session, part).inserted
}

function refuseUnlessOpen<Session extends { status: SessionStatus; in_time: boolean }>(
  session: Session | undefined,
  part: StoredPart,
): Session {
  if (!session) throw sessionNotFound(part.session_id)
  if (session.status !== 'uploading') throw uploadClosed(part.session_id)
  if (!session.in_time) throw tookTooLong(part.number)
  return session
}

/** The object of the earlier one is removed by a job of the same transaction. */
async function replacePart({ db, jobs }: Deps, part: StoredPart, deadline: Date): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const session = await trx
      .selectFrom('sessions')
      .select(['status', sql<boolean>`now() < ${deadline}`.as('in_time')])
      .where('id', '=', part.session_id)
      .forShare()
      .executeTakeFirst()
    refuseUnlessOpen(session, part)
    const former = await trx
      .selectFrom('parts')
      .select('object')
      .where('session_id', '=', part.session_id)
      .where('number', '=', part.number)
      .forUpdate()
      .executeTakeFirst()
    if (!former) return false
    await trx
      .updateTable('parts')
      .set({ sha256: part.sha256, object: part.object, bytes: part.bytes })
      .where('session_id', '=', part.session_id)
      .where('number', '=', part.number)
      .execute()
    await jobs.enqueue(trx, 'remove-objects', { sessionId: part.session_id, objects: [former.object] })
    return true
  })
}

function tookTooLong(number: number): ApiError {
  return new ApiError(
    'storage_unavailable',
    `part ${number} was on its way for days; nothing was kept, send it again`,
    { retryAfterS: 1 },
  )
}

function uploadClosed(sessionId: string): ApiError {
  return new ApiError(
    'upload_closed',
    `the upload of session ${sessionId} was completed; it takes no more parts`,
  )
}
