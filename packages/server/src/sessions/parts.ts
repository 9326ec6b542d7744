import type { Db } from '../db/database.ts'
import type { PartRow } from '../db/schema.ts'
import { ApiError } from '../errors.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { partBytes, sessionNotFound } from './session.ts'

/** What the upload endpoint must know before it takes a byte. */
export type ExpectedPart = { sessionId: string; number: number; bytes: number; partCount: number }

export async function expectPart(db: Db, sessionId: string, number: number): Promise<ExpectedPart> {
  const row = await db
    .selectFrom('sessions')
    .select(['status', 'bytes', 'part_size', 'part_count'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
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

/**
 * Records a part that is durable. The last whole one wins: the object of an earlier one is removed by a job
 * of the same transaction. The share lock makes a part and a completion see each other.
 */
export async function recordPart(
  { db, jobs }: { db: Db; jobs: Jobs },
  part: StoredPart,
  elapsedMs: () => number,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const session = await trx
      .selectFrom('sessions')
      .select('status')
      .where('id', '=', part.session_id)
      .forShare()
      .executeTakeFirst()
    if (!session) throw sessionNotFound(part.session_id)
    if (session.status !== 'uploading') throw uploadClosed(part.session_id)
    // Asked in the transaction: should we fall asleep now, the database ends it.
    if (elapsedMs() > MAX_PART_MS) throw tookTooLong(part.number)
    const inserted = await trx
      .insertInto('parts')
      .values(part)
      .onConflict((conflict) => conflict.doNothing())
      .returning('number')
      .executeTakeFirst()
    if (inserted) return
    const former = await trx
      .selectFrom('parts')
      .select('object')
      .where('session_id', '=', part.session_id)
      .where('number', '=', part.number)
      .forUpdate()
      .executeTakeFirstOrThrow()
    await trx
      .updateTable('parts')
      .set({ sha256: part.sha256, object: part.object, bytes: part.bytes })
      .where('session_id', '=', part.session_id)
      .where('number', '=', part.number)
      .execute()
    await jobs.enqueue(trx, 'remove-objects', { sessionId: part.session_id, objects: [former.object] })
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
