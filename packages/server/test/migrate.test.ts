import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import pg from 'pg'
import { migrate, migrationsDir } from '../src/db/migrate.ts'
import { createDatabase } from './support/service.ts'

let connection: { connectionString: string }
let dir: string
beforeEach(async () => {
  connection = { connectionString: await createDatabase() }
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-migrations-'))
  await cp(migrationsDir, dir, { recursive: true })
})
afterEach(() => rm(dir, { recursive: true }))

const number = async (plus: number) => String((await readdir(migrationsDir)).length + plus).padStart(4, '0')

test('any number of nodes may migrate at once', async () => {
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(connection)))
  const files = (await readdir(migrationsDir)).sort()
  assert.deepEqual(applied.flat(), files)
})

test('a schema newer than the code is refused', async () => {
  await writeFile(join(dir, `${await number(1)}_newer.sql`), 'create table newer ()')
  await migrate(connection, dir)
  await assert.rejects(migrate(connection), /newer than this code knows/)
})

test('a migration that was edited after it was applied is refused', async () => {
  await migrate(connection, dir)
  await writeFile(join(dir, (await readdir(dir)).sort()[0] ?? ''), '-- edited')
  await assert.rejects(migrate(connection, dir), /applied with other contents/)
})

test('a migration that fails leaves nothing of itself', async () => {
  await writeFile(join(dir, `${await number(1)}_bad.sql`), 'create table half (); select nonsense')
  await assert.rejects(migrate(connection, dir), /_bad\.sql failed/)
  const client = new pg.Client(connection)
  await client.connect()
  const { rows } = await client.query(
    "select to_regclass('half') as half, to_regclass('sessions') as sessions",
  )
  await client.end()
  assert.deepEqual(rows, [{ half: null, sessions: 'sessions' }])
})

test('a gap in the numbers is refused', async () => {
  await writeFile(join(dir, `${await number(2)}_gap.sql`), 'select 1')
  await assert.rejects(migrate(connection, dir), /out of sequence/)
})
