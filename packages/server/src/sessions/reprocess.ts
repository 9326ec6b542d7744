import type { Session } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { findSession, move, toObject } from './session.ts'

/** Runs the current processor over the recording again. What was found before stays until the new result is there. */
export async function reprocess(
  { db, jobs }: { db: Db; jobs: Jobs },
  caller: Caller,
  id: string,
  commit: Commit,
): Promise<Session> {
  const { status } = await findSession(db, caller, id)
  return commit.transaction(async (trx) => {
    const moved =
      status === 'processed' || status === 'failed' ? await move(trx, id, status, 'processing') : undefined
    if (!moved)
      throw new ApiError(
        'not_processed',
        `session ${id} is ${status}; it can be processed again when it is done`,
      )
    await jobs.enqueue(trx, 'process-session', { sessionId: id })
    return toObject(moved)
  })
}
