import { type RawBuilder, sql } from 'kysely'
import { type Db, isUnavailable } from './database.ts'

// A process of the service is a node. What it claims for longer than one transaction (a completion, an
// idempotency key) carries its number and is its own while the node keeps being seen. Only the database's
// clock is asked, so nodes may disagree about the time. A claim is taken over by writing another number in
// it: the late owner's last statement names its own number and then changes nothing.

const BEAT_MS = 2_000
/** A node that has not been seen for this long has ended. */
export const LEASE_S = 10

export type Node = {
  id: number
  /** Gives a claim back: now, or as soon as the database answers again. */
  release(giveBack: () => Promise<unknown>): Promise<void>
  /** Gives back what could not be given back yet: before a claim, so that nobody waits for a request that has ended. */
  settle(): Promise<void>
  leave(): Promise<void>
}

type Options = {
  /** No other process can be using this database, so whoever was here before is dead. */
  alone: boolean
  /** The schema that our code was written for. */
  codeVersion: number
  onError: (error: unknown) => void
}

export async function joinAsNode(db: Db, { alone, codeVersion, onError }: Options): Promise<Node> {
  if (alone) await db.deleteFrom('nodes').execute()
  const { id } = await db
    .insertInto('nodes')
    .values({ schema_version: codeVersion })
    .returning('id')
    .executeTakeFirstOrThrow()
  const leave = () => db.deleteFrom('nodes').where('id', '=', id).execute()
  await refuseIfOutdated(db, codeVersion).catch(async (error: unknown) => {
    await leave()
    throw error
  })
  const owed = new Set<() => Promise<unknown>>()
  const beat = async () => {
    // An upsert: a machine that slept for days may find its row swept.
    await sql`insert into nodes (id, seen_at, schema_version) overriding system value
      values (${id}, now(), ${codeVersion})
      on conflict (id) do update set seen_at = now()`.execute(db)
    await settle()
  }
  const settle = async () => {
    for (const giveBack of owed) {
      await giveBack()
      owed.delete(giveBack)
    }
  }
  const timer = setInterval(() => beat().catch(onError), BEAT_MS)
  return {
    id,
    async release(giveBack) {
      try {
        await giveBack()
      } catch (error) {
        if (!isUnavailable(error)) throw error
        owed.add(giveBack)
      }
    },
    settle,
    async leave() {
      clearInterval(timer)
      await leave()
    },
  }
}

/** A newer node that migrated before we were here to be seen did not wait for us. */
async function refuseIfOutdated(db: Db, codeVersion: number): Promise<void> {
  const { rows } = await sql<{ version: number }>`
    select version from schema_migrations
    where version > ${codeVersion} and coalesce(oldest_code, version) > ${codeVersion}
    limit 1`.execute(db)
  const [row] = rows
  if (row)
    throw new Error(`the database has moved on to schema version ${row.version}; run the newer version`)
}

/** Whether the node that a column names is still seen. */
export function isAlive(nodeId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from nodes where nodes.id = ${nodeId} and nodes.seen_at > now() - ${LEASE_S} * interval '1 second')`
}
