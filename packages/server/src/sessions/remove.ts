import type { DeletedSession } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { findSession, sessionNotFound } from './session.ts'

/** Deletes the session and everything of it; the job that removes the bytes is part of the same transaction. */
export async function remove(
  { db, jobs }: { db: Db; jobs: Jobs },
  caller: Caller,
  id: string,
  commit: Commit,
): Promise<DeletedSession> {
  const { filename, site } = await findSession(db, caller, id)
  commit.describe(`${filename} (${site})`)
  return commit.transaction(async (trx) => {
    const { numDeletedRows } = await trx.deleteFrom('sessions').where('id', '=', id).executeTakeFirst()
    if (numDeletedRows === 0n) throw sessionNotFound(id)
    await jobs.enqueue(trx, 'remove-objects', { sessionId: id, objects: 'all' })
    return { id, object: 'session', deleted: true }
  })
}
