import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, type TestContext, test } from 'node:test'
import pg from 'pg'
import { openDatabase } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { migrationsDir, readMigrations } from '../src/db/migrations.ts'
import { joinAsNode } from '../src/db/nodes.ts'
import { complete, followSession, recording, uploadAll } from './support/client.ts'
import { createEmptyDatabase, startService } from './support/service.ts'

let connection: { connectionString: string }
let dir: string
let ourVersion: number
beforeEach(async () => {
  connection = { connectionString: await createEmptyDatabase() }
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-migrations-'))
  await cp(migrationsDir, dir, { recursive: true })
  ourVersion = (await readMigrations(dir)).length
})
afterEach(() => rm(dir, { recursive: true }))

const asNode = {
  alone: false,
  servesApi: true,
  secrets: ['the same for all'],
  onError: assert.ifError,
} as const
const fourDigits = (version: number) => String(version).padStart(4, '0')

/** A migration of the future: by default one that our code can live with. */
function addNewer(sql: string, { oldestCode = ourVersion, plus = 1 } = {}): Promise<void> {
  const version = ourVersion + plus
  const header = oldestCode < version ? `-- oldest code: ${fourDigits(oldestCode)}\n` : ''
  return writeFile(join(dir, `${fourDigits(version)}_newer.sql`), `${header}${sql}`)
}

async function connect(t: TestContext): Promise<pg.Client> {
  const client = new pg.Client(connection)
  await client.connect()
  t.after(() => client.end())
  return client
}

test('any number of nodes may migrate at once', async () => {
  const migrated = await Promise.all(Array.from({ length: 5 }, () => migrate(connection)))
  const files = (await readdir(migrationsDir)).sort()
  assert.deepEqual(
    migrated.flatMap(({ applied }) => applied),
    files,
  )
})

test('a schema that newer code has changed beyond ours is refused', async () => {
  await addNewer('create table newer ()', { oldestCode: ourVersion + 1 })
  await migrate(connection, { dir })
  await assert.rejects(migrate(connection), /cannot use; run the newer version/)
})

test('it stays refused when later migrations would go with our code', async () => {
  await addNewer('create table newer ()', { oldestCode: ourVersion + 1 })
  await addNewer('create table newest ()', { plus: 2 })
  await migrate(connection, { dir })
  await assert.rejects(migrate(connection), /cannot use; run the newer version/)
})

test('a node that the schema passed by while it started is refused', async (t) => {
  await migrate(connection)
  const { db, close } = openDatabase(connection)
  t.after(close)
  await addNewer('create table newer ()', { oldestCode: ourVersion + 1 })
  await migrate(connection, { dir })
  const joining = joinAsNode(db, { ...asNode, codeVersion: ourVersion })
  await assert.rejects(joining, /moved on to schema version/)
  assert.deepEqual(await db.selectFrom('nodes').select('id').execute(), [])
})

test('a node goes on, and starts again, beside a newer one that has expanded the schema', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  connection = { connectionString: service.database.pool.options.connectionString ?? '' }
  // Statements of the running node are prepared already: each kind is used before and after.
  const upload = async (seed: number) => {
    const { session, parts } = await uploadAll(service, recording(1, seed))
    assert.equal((await complete(service, session.id, parts)).status, 200)
    assert.equal((await followSession(service, session.id)).status, 'failed')
  }
  await upload(1)
  await addNewer(`alter table sessions add column color text not null default 'blue';
    create index sessions_by_color on sessions (organisation_id, color, created_at, id);
    alter table parts add column color text; alter table nodes add column color text;
    create table colors (name text primary key);`)
  const [{ applied }] = await Promise.all([migrate(connection, { dir }), upload(2)])
  assert.deepEqual(applied, [`${fourDigits(ourVersion + 1)}_newer.sql`])
  await upload(3)
  await service.restart()
  await upload(4)
})

test('a migration that would break a running node waits for its end, or is refused', async (t) => {
  await migrate(connection)
  const { db, close } = openDatabase(connection)
  t.after(close)
  const node = await joinAsNode(db, { ...asNode, codeVersion: ourVersion })
  await addNewer('alter table sessions drop column processing_stage', { oldestCode: ourVersion + 1 })
  await assert.rejects(migrate(connection, { dir, patienceMs: 0 }), /_newer\.sql would break node \d+,/)
  const migrating = migrate(connection, { dir })
  await node.leave()
  assert.equal((await migrating).applied.length, 1)
})

test('a node that does not say its version counts as one of the last that did not', async (t) => {
  await migrate(connection)
  const client = await connect(t)
  await client.query('insert into nodes default values')
  await addNewer('select 1', { oldestCode: 5 })
  await addNewer('select 1', { oldestCode: 6, plus: 2 })
  await assert.rejects(migrate(connection, { dir, patienceMs: 0 }), {
    message: new RegExp(`^migration ${fourDigits(ourVersion + 2)}_newer.sql would break node`),
  })
})

test('a migration that waits for a lock does not make everybody wait behind it', async (t) => {
  await migrate(connection)
  const [reader, other] = [await connect(t), await connect(t)]
  await reader.query('begin; select from sessions')
  await addNewer('alter table sessions add column color text')
  const migrating = migrate(connection, { dir })
  for (let waiting = false; !waiting; ) {
    const { rowCount } = await other.query(
      `select from pg_locks where relation = 'sessions'::regclass and not granted`,
    )
    waiting = rowCount === 1
  }
  await other.query('select from sessions')
  await reader.query('commit')
  assert.equal((await migrating).applied.length, 1)
})

test('every migration says which code goes on beside it, since nodes can tell', async () => {
  const files = (await readdir(migrationsDir)).sort().slice(5)
  for (const file of files) {
    assert.match(await readFile(join(migrationsDir, file), 'utf8'), /^-- oldest code: \d{4}\n/, file)
  }
})

test('a migration that was edited after it was applied is refused', async () => {
  await migrate(connection, { dir })
  await writeFile(join(dir, (await readdir(dir)).sort()[0] ?? ''), '-- edited')
  await assert.rejects(migrate(connection, { dir }), /applied with other contents/)
})

test('a migration that fails leaves nothing of itself', async (t) => {
  await addNewer('create table half (); select nonsense')
  await assert.rejects(migrate(connection, { dir }), /_newer\.sql failed/)
  const client = await connect(t)
  const { rows } = await client.query(
    "select to_regclass('half') as half, to_regclass('sessions') as sessions",
  )
  assert.deepEqual(rows, [{ half: null, sessions: 'sessions' }])
})

test('a gap in the numbers is refused', async () => {
  await addNewer('select 1', { plus: 2 })
  await assert.rejects(migrate(connection, { dir }), /out of sequence/)
})
