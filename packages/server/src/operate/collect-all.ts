import type { Db } from '../db/database.ts'
import type { Storage } from '../storage/storage.ts'
import { findUnnamed, removeUnnamed } from './unnamed-objects.ts'

export type Wishes = {
  /** Only looks. */
  dryRun: boolean
  /** Removes what is unknown too: the operator knows better than the database. */
  alsoUnknown: boolean
  tell: (object: string, why: 'left over' | 'deleted' | 'unknown') => void
  signal: AbortSignal
}

export type Collected = { seen: number; left_over: number; deleted: number; unknown: number }

/** One walk over everything, at once and without a pause. */
export async function collectAll(
  { db, storage }: { db: Db; storage: Storage },
  { dryRun, alsoUnknown, tell, signal }: Wishes,
): Promise<Collected> {
  const total: Collected = { seen: 0, left_over: 0, deleted: 0, unknown: 0 }
  for await (const { objects } of storage.walk('')) {
    signal.throwIfAborted()
    const findings = await findUnnamed(db, objects)
    const { leftOver, ofDeleted, unknown } = findings
    if (!dryRun) await removeUnnamed(storage, findings)
    if (!dryRun && alsoUnknown) await storage.remove(unknown)
    for (const object of leftOver) tell(object, 'left over')
    for (const object of ofDeleted) tell(object, 'deleted')
    for (const object of unknown) tell(object, 'unknown')
    total.seen += objects.length
    total.left_over += leftOver.length
    total.deleted += ofDeleted.length
    total.unknown += unknown.length
  }
  return total
}
