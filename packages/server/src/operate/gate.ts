import type { Db } from '../db/database.ts'

// The operator's gate between `uploaded` and `processing`.

export async function setPaused(db: Db, paused: boolean): Promise<void> {
  await db.updateTable('processing_gate').set({ paused }).execute()
}

export async function countWaiting(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('sessions')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('status', '=', 'uploaded')
    .executeTakeFirstOrThrow()
  return count
}
