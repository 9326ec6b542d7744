import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import type { Session } from '@tapedeck/contract'
import { sql } from 'kysely'
import { type Db, openDatabase } from '../../../src/db/database.ts'
import { collectAll } from '../../../src/operate/collect-all.ts'
import { openRecording } from '../../../src/storage/recording.ts'
import { openS3 } from '../../../src/storage/s3/store.ts'
import type { Receiver } from '../receiver.ts'
import { objectsOf } from '../s3.ts'
import { listAll } from '../steady-client.ts'
import { until } from '../until.ts'
import type { Cluster } from './cluster.ts'

// What has to be true after every fault, whatever it was: nothing acknowledged is lost, nothing is stuck, every session
// has ended as it should, every event was delivered, and every object has its row.

/** A session whose completion was acknowledged. */
export type Acknowledged = {
  id: string
  sha256: string
  status: 'processed' | 'failed'
  /** How often it was processed to its end. */
  results?: number
}

/** A worker that died is missed after its lease, and its session is then taken up by another. */
const SETTLED_WITHIN_MS = 90_000

export async function checkAftermath(
  t: TestContext,
  cluster: Cluster,
  receiver: Receiver,
  wanted: Acknowledged[],
): Promise<void> {
  const database = openDatabase({ connectionString: cluster.databaseUrl }, { maxConnections: 2 })
  try {
    await everySessionEnds(cluster, wanted)
    await nothingIsStuck(database.db, cluster)
    await everyByteIsThere(database.db, cluster, wanted)
    await everyResultIsWhole(database.db)
    await everyEventArrived(database.db, receiver, wanted)
    const collected = await everyObjectHasItsRow(database.db, cluster)
    t.diagnostic(`${wanted.length} sessions; the collector has removed ${collected} objects`)
  } finally {
    await database.close()
  }
}

/** There is each session that was acknowledged, and no other. */
async function everySessionEnds(cluster: Cluster, wanted: Acknowledged[]): Promise<void> {
  const states = (sessions: { id: string; status: string }[]) =>
    sessions.map(({ id, status }) => `${id} ${status}`).sort()
  let there: Session[] = []
  const allDone = async () => {
    there = await listAll(cluster)
    return there.every(({ status }) => status === 'processed' || status === 'failed')
  }
  await until('every session is processed or failed', allDone, SETTLED_WITHIN_MS)
  assert.deepEqual(states(there), states(wanted), JSON.stringify(there.map(({ issues }) => issues)))
}

async function nothingIsStuck(db: Db, cluster: Cluster): Promise<void> {
  const left = async () => {
    const { rows } = await sql<{ name: string; state: string }>`
      select name, state::text from jobs.job where state in ('created', 'retry', 'active') limit 5`.execute(
      db,
    )
    return rows
  }
  await until('no job is left', async () => (await left()).length === 0, SETTLED_WITHIN_MS)
  const { rows } = await sql`
    select id from sessions where completing_claim is not null union all
    select key from idempotency_keys where response is null union all
    select id from deliveries where status = 'pending'`.execute(db)
  assert.deepEqual(rows, [], 'a claim or a delivery is left')
  const temporary = async () =>
    (await readdir(cluster.tempDir)).filter((name) => name.startsWith('tapedeck-scan-'))
  await until('no temporary file is left', async () => (await temporary()).length === 0, SETTLED_WITHIN_MS)
}

/** Each recording as it is in the store, read whole. */
async function everyByteIsThere(db: Db, { bucket }: Cluster, wanted: Acknowledged[]): Promise<void> {
  const storage = await openS3(bucket)
  try {
    for (const { id, sha256 } of wanted) {
      const parts = await db
        .selectFrom('parts')
        .select(['object', 'bytes'])
        .where('session_id', '=', id)
        .orderBy('number')
        .execute()
      const hash = createHash('sha256')
      for (const part of parts) hash.update(await openRecording(storage, [part]).read(0, part.bytes))
      assert.equal(hash.digest('hex'), sha256, `the bytes of ${id}`)
    }
  } finally {
    storage.close()
  }
}

/** However often a recording was read, one result was written. */
async function everyResultIsWhole(db: Db): Promise<void> {
  const { rows } = await sql`
    select sessions.id, segment_count, count(position) as there, count(distinct position) as places
    from sessions left join segments on segments.session_id = sessions.id
    group by sessions.id, segment_count
    having count(position) <> segment_count or count(distinct position) <> segment_count`.execute(db)
  assert.deepEqual(rows, [])
}

/** One event for each result, and it arrived. */
async function everyEventArrived(db: Db, receiver: Receiver, wanted: Acknowledged[]): Promise<void> {
  const lines = (events: { type: string; id: string }[]) =>
    events.map(({ type, id }) => `${type} ${id}`).sort()
  const { rows } = await sql<{ type: string; id: string }>`
    select type, body::jsonb #>> '{data,object,id}' as id from events`.execute(db)
  const told = wanted.flatMap(({ id, status, results = 1 }) =>
    Array.from({ length: results }, () => ({ type: `session.${status}`, id })),
  )
  assert.deepEqual(lines(rows), lines(told), 'the events that were written')
  const arrived = receiver.delivered.map(({ body }) => JSON.parse(body))
  const distinct = new Set(lines(arrived.map(({ type, data }) => ({ type, id: data.object.id }))))
  assert.deepEqual([...distinct].sort(), [...new Set(lines(told))], 'the events that arrived')
}

/** What a node had stored when it died, before it could write it down, is collected, and nothing else is. */
async function everyObjectHasItsRow(db: Db, { bucket }: Cluster): Promise<number> {
  const storage = await openS3(bucket)
  const wishes = { dryRun: false, alsoUnknown: false, tell() {}, signal: new AbortController().signal }
  const { left_over, deleted } = await collectAll({ db, storage }, wishes).finally(() => storage.close())
  const named = await db.selectFrom('parts').select('object').execute()
  const there = await objectsOf(bucket, 'sessions/')
  assert.deepEqual(there.sort(), named.map(({ object }) => object).sort())
  return left_over + deleted
}
