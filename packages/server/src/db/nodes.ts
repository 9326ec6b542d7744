import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { type Db, isUnavailable } from './database.ts'

// A process of the service is a node. What it claims for longer than one transaction (a completion, an
// idempotency key) carries its number and is its own while the node keeps being seen. Only the database's
// clock is asked, so nodes may disagree about the time. A claim is taken over by writing another number in
// it: the late owner's last statement names its own number and then changes nothing. Nodes that serve the API also
// hear how many they are, so that each can count its share of what is limited.

const BEAT_MS = 2_000
/** A node that has not been seen for this long has ended. */
export const LEASE_S = 10
const PATIENCE_MS = (LEASE_S + 2) * 1000
const LOOK_EVERY_MS = 250

export type Node = {
  id: number
  /** How many nodes serve the API, this one among them where it does; as last heard of, at least one. */
  apiNodes(): number
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
  /** Fingerprints of the secrets that we accept, the one that we sign with first. */
  secrets: readonly [string, ...string[]]
  /** How long to wait for nodes that do not go with ours. */
  patienceMs?: number
  servesApi: boolean
  onError: (error: unknown) => void
}

export async function joinAsNode(db: Db, options: Options): Promise<Node> {
  const { alone, codeVersion, secrets, patienceMs = PATIENCE_MS, servesApi, onError } = options
  if (alone) await db.deleteFrom('nodes').execute()
  const { id } = await db
    .insertInto('nodes')
    .values({ schema_version: codeVersion, secrets: [...secrets], serves_api: servesApi })
    .returning('id')
    .executeTakeFirstOrThrow()
  const leave = () => db.deleteFrom('nodes').where('id', '=', id).execute()
  try {
    await refuseIfOutdated(db, codeVersion)
    await untilAllAccept(db, id, secrets, patienceMs)
  } catch (error) {
    await leave()
    throw error
  }
  let apiNodes = await countApiNodes(db)
  const owed = new Set<() => Promise<unknown>>()
  const beat = async () => {
    // An upsert: a machine that slept for days may find its row swept.
    await sql`insert into nodes (id, seen_at, schema_version, secrets, serves_api) overriding system value
      values (${id}, now(), ${codeVersion}, ${secrets}, ${servesApi})
      on conflict (id) do update set seen_at = now()`.execute(db)
    if (servesApi) apiNodes = await countApiNodes(db)
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
    apiNodes: () => apiNodes,
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

/**
 * While nodes run side by side each must accept what the others sign; that is what the steps of an exchange of the secret
 * are for. A node that was killed is seen for a while, so it is waited for.
 */
async function untilAllAccept(
  db: Db,
  id: number,
  ours: Options['secrets'],
  patienceMs: number,
): Promise<void> {
  for (const deadline = Date.now() + patienceMs; ; await sleep(LOOK_EVERY_MS)) {
    const { rows } = await sql<{ id: number; secrets: string[] }>`
      select id, secrets from nodes
      where id <> ${id} and secrets is not null and ${isAlive(sql.ref('nodes.id'))}`.execute(db)
    const unknown = rows.find(({ secrets }) => !ours.some((secret) => secret === secrets[0]))
    const unknowing = rows.find(({ secrets }) => !secrets.includes(ours[0]))
    if (!unknown && !unknowing) return
    if (Date.now() < deadline) continue
    throw new Error(
      unknown
        ? `node ${unknown.id} is running and signs with a secret that this node does not accept; all nodes need ` +
            'the same TAPEDECK_SECRET, and docs/operating.md says how it is rotated'
        : `node ${unknowing?.id} is running and would not accept what this node signs; give every node the new ` +
            'secret as TAPEDECK_SECRET_NEXT first, as docs/operating.md says',
    )
  }
}

/** Whether the node that a column names is still seen. */
export function isAlive(nodeId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select 1 from nodes where nodes.id = ${nodeId} and ${isSeen})`
}

async function countApiNodes(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('nodes')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('serves_api', '=', true)
    .where(isSeen)
    .executeTakeFirstOrThrow()
  return Math.max(1, count)
}

const isSeen = sql<boolean>`nodes.seen_at > now() - ${LEASE_S} * interval '1 second'`
