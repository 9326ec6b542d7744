import type { StreamEvents } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Connection, Db } from '../db/database.ts'
import { listen } from '../db/listen.ts'
import { EVENTS_CHANNEL, retrieveEvent } from './event.ts'

// Events in the order in which they become visible. An event is dated by the beginning of its transaction, so one that
// is committed late stands before others that were read already. A follower therefore looks two minutes back every
// time, and leaves out by id what it has told.

const OVERLAP_S = 120
const MAX_TOLD = 10_000
const BATCH = 100

export type FedEvent = { id: string; type: string; body: string }

export type Follower = {
  /** What is new, oldest first; empty when nothing is. */
  read(): Promise<FedEvent[]>
  /** Whether there may be something new, as soon as there may be; after so long not. */
  wait(ms: number): Promise<boolean>
  close(): void
}

export type EventFeed = {
  follow(caller: Caller, query: StreamEvents): Promise<Follower>
  /** Followers of the organisation that are open now. */
  count(organisationId: string): number
  /** Aborted when the feed is closed. */
  closed: AbortSignal
  close(): Promise<void>
}

type Deps = { db: Db; connection: Connection; onError: (error: unknown) => void }

export function openEventFeed({ db, connection, onError }: Deps): EventFeed {
  const wakers = new Map<string, Set<() => void>>()
  const closing = new AbortController()
  let listening: ReturnType<typeof listen> | undefined

  function onNotice(organisationId: string): void {
    const woken = organisationId === '' ? [...wakers.values()] : [wakers.get(organisationId) ?? []]
    for (const group of woken) for (const wake of group) wake()
  }

  return {
    closed: closing.signal,
    count: (organisationId) => wakers.get(organisationId)?.size ?? 0,
    async follow(caller, query) {
      // A connection of its own, made when somebody follows for the first time.
      listening ??= listen(connection, EVENTS_CHANNEL, onNotice, onError)
      const { organisationId } = caller
      const bell = openBell()
      const group = wakers.get(organisationId) ?? new Set()
      wakers.set(organisationId, group.add(bell.ring))
      const close = () => {
        group.delete(bell.ring)
        if (group.size === 0) wakers.delete(organisationId)
      }
      try {
        const read = await openReading(db, caller, query)
        return { read, wait: bell.wait, close }
      } catch (error) {
        close()
        throw error
      }
    },
    async close() {
      closing.abort()
      onNotice('')
      await listening?.stop()
    },
  }
}

/** Remembers that it was rung while nobody waited. */
function openBell() {
  let rung = false
  let answer: (() => void) | undefined
  return {
    ring() {
      rung = true
      answer?.()
    },
    async wait(ms: number): Promise<boolean> {
      if (!rung) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, ms)
        answer = resolve
        await promise
        clearTimeout(timer)
      }
      const wasRung = rung
      rung = false
      return wasRung
    },
  }
}

async function openReading(
  db: Db,
  caller: Caller,
  { type, after }: StreamEvents,
): Promise<() => Promise<FedEvent[]>> {
  const { organisationId } = caller
  const types = type?.split(',')
  const told = new Map<string, Date>()
  let newest: Date

  const recent = () =>
    db
      .selectFrom('events')
      .where('organisation_id', '=', organisationId)
      .where('created_at', '>=', new Date(newest.getTime() - OVERLAP_S * 1000))

  function remember(rows: { id: string; created_at: Date }[]): void {
    for (const { id, created_at } of rows) {
      told.set(id, created_at)
      if (created_at > newest) newest = created_at
    }
    for (const [id, at] of told) {
      const isOld = at.getTime() < newest.getTime() - OVERLAP_S * 1000
      if (isOld || told.size > MAX_TOLD) told.delete(id)
    }
  }

  if (after === undefined) {
    // From now on: what can be seen now has been told, as it were.
    const { rows } = await sql<{ now: Date }>`select now()`.execute(db)
    newest = rows[0]?.now ?? new Date(0)
    remember(
      await recent().select(['id', 'created_at']).orderBy('created_at', 'desc').limit(MAX_TOLD).execute(),
    )
  } else {
    const { created_at } = await retrieveEvent({ db }, caller, after)
    newest = new Date(created_at)
    told.set(after, newest)
  }
  return async () => {
    const rows = await recent()
      .select(['id', 'type', 'body', 'created_at'])
      .where(sql<boolean>`not (id = any(${[...told.keys()]}::text[]))`)
      .where(types ? sql<boolean>`type = any(${types}::text[])` : sql<boolean>`true`)
      .orderBy('created_at')
      .orderBy('id')
      .limit(BATCH)
      .execute()
    remember(rows)
    return rows
  }
}
