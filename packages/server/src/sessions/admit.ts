import type { Db } from '../db/database.ts'
import { statement } from '../db/statement.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { move, type SessionRecord, type Trx } from './session.ts'

const BATCH = 100

/** Lets a verified session in to processing. */
async function admit(jobs: Jobs, trx: Trx, id: string): Promise<SessionRecord | undefined> {
  const session = await move(trx, id, 'uploaded', 'processing')
  if (session) await jobs.enqueue(trx, 'process-session', { sessionId: id })
  return session
}

const gate = statement((db) => db.selectFrom('processing_gate').select('paused').forShare())

/** The share lock makes a completion and `tapedeck processing resume` see each other. */
export async function isPaused(trx: Trx): Promise<boolean> {
  const [row] = await gate(trx)
  if (!row) throw new Error('the gate of processing has no row')
  return row.paused
}

/** Lets in what rests in `uploaded` once the gate is open. Safe to run on every node at once. */
export async function admitWaiting(db: Db, jobs: Jobs): Promise<number> {
  let count = 0
  for (;;) {
    const admitted = await db.transaction().execute((trx) => admitBatch(jobs, trx))
    count += admitted
    if (admitted < BATCH) return count
  }
}

async function admitBatch(jobs: Jobs, trx: Trx): Promise<number> {
  const waiting = await trx
    .selectFrom('sessions')
    .select('id')
    .where('status', '=', 'uploaded')
    .orderBy('created_at')
    .limit(BATCH)
    .forUpdate()
    .skipLocked()
    .execute()
  if (waiting.length === 0 || (await isPaused(trx))) return 0
  for (const { id } of waiting) await admit(jobs, trx, id)
  return waiting.length
}
