import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../packages/server/src/db/database.ts'
import type { S3Settings } from '../packages/server/src/storage/s3/client.ts'
import { openS3 } from '../packages/server/src/storage/s3/store.ts'
import type { Storage } from '../packages/server/src/storage/storage.ts'
import { objectsOf } from '../packages/server/test/support/s3.ts'
import type { Acknowledged, Ledger } from './ledger.ts'

// What is true at the end is read from the database and the store themselves, past every node.

export type Verdict = { what: string; found: string; holds: boolean }

type Deps = { db: Db; bucket: S3Settings; ledger: Ledger }

const READ_BYTES = 4 * 2 ** 20

/** Waits until nothing is under way any more; what is left after that is stuck. */
export async function settle(db: Db, withinMs: number, onLook: (left: number) => void): Promise<void> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    const left = await countUnderWay(db)
    onLook(left)
    if (left === 0 || performance.now() > deadlineMs) return
    await delay(500)
  }
}

async function countUnderWay(db: Db): Promise<number> {
  const { rows } = await sql<{ left: number }>`
    select (select count(*) from sessions where status not in ('processed', 'failed'))
      + (select count(*) from deliveries where status = 'pending')
      + (select count(*) from jobs.job where state < 'completed') as left`.execute(db)
  return rows[0]?.left ?? 0
}

export async function checkAll({ db, bucket, ledger }: Deps): Promise<Verdict[]> {
  const storage = await openS3(bucket)
  try {
    return [
      ...(await checkRecordings(db, storage, ledger)),
      await checkEnds(db),
      await checkEvents(db, ledger),
      ...(await checkObjects(db, bucket)),
      {
        what: 'answers that no fault explains',
        found: told(ledger.surprises),
        holds: ledger.surprises.length === 0,
      },
    ]
  } finally {
    storage.close()
  }
}

async function checkRecordings(db: Db, storage: Storage, { sessions }: Ledger): Promise<Verdict[]> {
  const kept = sessions.filter(({ deleted }) => !deleted)
  const wrong: string[] = []
  let bytes = 0
  for (const session of kept) {
    const fault = await faultOf(db, storage, session)
    if (fault === undefined) bytes += session.bytes
    else wrong.push(`${session.id} ${fault}`)
  }
  const gone = sessions.filter(({ deleted }) => deleted).map(({ id }) => id)
  const undead =
    gone.length === 0 ? [] : await db.selectFrom('sessions').select('id').where('id', 'in', gone).execute()
  return [
    {
      what: 'acknowledged recordings, hashed again from the store',
      found: `${kept.length} with ${(bytes / 1e6).toFixed(0)} MB; lost or wrong: ${told(wrong)}`,
      holds: wrong.length === 0,
    },
    {
      what: 'deleted sessions',
      found: `${gone.length}; still there: ${told(undead.map(({ id }) => id))}`,
      holds: undead.length === 0,
    },
  ]
}

async function faultOf(db: Db, storage: Storage, session: Acknowledged): Promise<string | undefined> {
  const parts = await db
    .selectFrom('parts')
    .select(['object', 'bytes'])
    .where('session_id', '=', session.id)
    .orderBy('number')
    .execute()
  const hash = createHash('sha256')
  try {
    for (const { object, bytes } of parts) {
      for (let offset = 0; offset < bytes; offset += READ_BYTES)
        hash.update(await storage.read(object, offset, Math.min(READ_BYTES, bytes - offset)))
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  const found = hash.digest('hex')
  return found === session.sha256 ? undefined : `hashes to ${found} instead of ${session.sha256}`
}

async function checkEnds(db: Db): Promise<Verdict> {
  const states = await db
    .selectFrom('sessions')
    .select(['status', (select) => select.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  const isEnd = (status: string) => status === 'processed' || status === 'failed'
  return {
    what: 'sessions by their end',
    found: states.map(({ status, count }) => `${count} ${status}`).join(', '),
    holds: states.length > 0 && states.every(({ status }) => isEnd(status)),
  }
}

async function checkEvents(db: Db, { events }: Ledger): Promise<Verdict> {
  const announced = await db.selectFrom('events').select('id').execute()
  const missed = announced.filter(({ id }) => !events.has(id)).map(({ id }) => id)
  const twice = [...events.values()].filter((times) => times > 1).length
  return {
    what: 'events, each delivered at least once',
    found: `${announced.length}, ${twice} of them more than once; never: ${told(missed)}`,
    holds: missed.length === 0 && announced.length > 0,
  }
}

async function checkObjects(db: Db, bucket: S3Settings): Promise<Verdict[]> {
  const rows = await db.selectFrom('parts').select('object').execute()
  const named = new Set(rows.map(({ object }) => object))
  const objects = new Set(await objectsOf(bucket))
  const lost = [...named.difference(objects)]
  const unnamed = [...objects.difference(named)]
  return [
    {
      what: 'parts without an object',
      found: `of ${named.size}: ${told(lost)}`,
      holds: lost.length === 0,
    },
    {
      what: 'objects without a row, once the collector has run',
      found: `of ${objects.size}: ${told(unnamed)}`,
      holds: unnamed.length === 0,
    },
  ]
}

/** None, or how many and the first of them. */
function told(wrong: string[]): string {
  if (wrong.length === 0) return 'none'
  return `${wrong.length} (${wrong.slice(0, 3).join('; ')}${wrong.length > 3 ? '; …' : ''})`
}
