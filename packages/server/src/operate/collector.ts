import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { isAlive, type Node } from '../db/nodes.ts'
import type { Page, Storage } from '../storage/storage.ts'
import { deleteInBatches } from './batches.ts'
import { ABANDONED_MS, findUnnamed, removeUnnamed } from './unnamed-objects.ts'

// Walks over all that storage has, page by page and without haste, and removes what no row names. One walk at a time, by
// whichever node has claimed it; its place is kept, so that another node goes on where one has died. Two at once, one of
// them woken late, would only do the same thing twice.

type Deps = {
  db: Db
  storage: Storage
  node: Node
  onRemoved: (removed: { count: number; examples: string[] }) => void
  onUnknown: (unknown: { count: number; examples: string[] }) => void
  onEnd: (walk: { seen: number; removed: number; unknown: number }) => void
  onError: (error: unknown) => void
}

export type Pace = {
  /** A service that has just started has other things to do. */
  firstAfterMs: number
  lookEveryMs: number
  /** Between two walks, from the beginning of one to that of the next. */
  walkEveryMs: number
  /** Between two pages: a thousand objects a second at most. */
  pauseMs: number
}

export const calmPace: Pace = {
  firstAfterMs: 5 * 60_000,
  lookEveryMs: 60_000,
  walkEveryMs: 24 * 3600_000,
  pauseMs: 1_000,
}

const EXAMPLES = 5
const LEFTOVER_AGE_MS = 24 * 3600_000
/** Walks that are remembered. */
const REMEMBERED_DAYS = 90

type Walk = { id: number; place: string; started_at: Date }

export function startCollecting(deps: Deps, pace: Pace): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = run(deps, pace, signal)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function run(deps: Deps, pace: Pace, signal: AbortSignal): Promise<void> {
  await pause(pace.firstAfterMs, signal)
  while (!signal.aborted) {
    await turn(deps, pace, signal).catch(deps.onError)
    await pause(pace.lookEveryMs, signal)
  }
}

async function turn(deps: Deps, pace: Pace, signal: AbortSignal): Promise<void> {
  const walk = await claim(deps, pace.walkEveryMs)
  if (!walk) return
  for await (const page of deps.storage.walk(walk.place)) {
    if (signal.aborted || !(await collectPage(deps, walk, page))) return giveBack(deps, walk)
    await pause(pace.pauseMs, signal)
  }
  if (signal.aborted) return giveBack(deps, walk)
  await deps.storage.removeLeftovers(LEFTOVER_AGE_MS)
  await end(deps, walk, signal)
}

/** The walk under way, if nobody who is alive is on it; or a new one, if it is time. */
async function claim({ db, node }: Deps, walkEveryMs: number): Promise<Walk | undefined> {
  await sql`insert into collections (node_id)
    select ${node.id} where not exists (select 1 from collections
      where ended_at is null or started_at > now() - ${walkEveryMs} * interval '1 millisecond')
    on conflict do nothing`.execute(db)
  return db
    .updateTable('collections')
    .set({ node_id: node.id })
    .where('ended_at', 'is', null)
    .where((where) =>
      where.or([
        where('node_id', '=', node.id),
        where('node_id', 'is', null),
        where.not(isAlive(sql.ref('collections.node_id'))),
      ]),
    )
    .returning(['id', 'place', 'started_at'])
    .executeTakeFirst()
}

/** False: the walk is not ours any more. */
async function collectPage(deps: Deps, walk: Walk, { objects, place }: Page): Promise<boolean> {
  const findings = await findUnnamed(deps.db, objects)
  await removeUnnamed(deps.storage, findings)
  const removed = [...findings.leftOver, ...findings.ofDeleted]
  const { unknown } = findings
  if (removed.length > 0) deps.onRemoved({ count: removed.length, examples: removed.slice(0, EXAMPLES) })
  if (unknown.length > 0) deps.onUnknown({ count: unknown.length, examples: unknown.slice(0, EXAMPLES) })
  const { numUpdatedRows } = await deps.db
    .updateTable('collections')
    .set((set) => ({
      place,
      seen: set('seen', '+', objects.length),
      removed: set('removed', '+', removed.length),
      unknown: set('unknown', '+', unknown.length),
    }))
    .where('id', '=', walk.id)
    .where('node_id', '=', deps.node.id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

async function giveBack({ db, node }: Deps, { id }: Walk): Promise<void> {
  await db
    .updateTable('collections')
    .set({ node_id: null })
    .where('id', '=', id)
    .where('node_id', '=', node.id)
    .execute()
}

async function end({ db, node, onEnd }: Deps, { id, started_at }: Walk, signal: AbortSignal): Promise<void> {
  const ended = await db
    .updateTable('collections')
    .set({ ended_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('node_id', '=', node.id)
    .returning(['seen', 'removed', 'unknown'])
    .executeTakeFirst()
  if (!ended) return
  onEnd(ended)
  await sql`delete from collections where started_at < now() - ${REMEMBERED_DAYS} * interval '1 day'`.execute(
    db,
  )
  // Nothing of a session that was deleted so long before the walk can be left, nor come.
  const done = new Date(started_at.getTime() - ABANDONED_MS)
  await deleteInBatches(
    (limit) =>
      sql`delete from deleted_sessions where session_id in (
      select session_id from deleted_sessions where deleted_at < ${done} limit ${limit} for update skip locked)`.execute(
        db,
      ),
    signal,
  )
}

/** Ends early, without a word, when it is time to stop. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
