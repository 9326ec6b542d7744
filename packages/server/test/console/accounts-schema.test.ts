import assert from 'node:assert/strict'
import { test } from 'node:test'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import pg from 'pg'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase } from '../support/service.ts'

test('the schema of accounts is the one that the library would make itself', async () => {
  const connectionString = await createDatabase()
  await migrate({ connectionString })
  const pool = new pg.Pool({ connectionString })
  await pool.query('create schema expected')
  const theirs = new pg.Pool({ connectionString, options: '-c search_path=expected' })
  try {
    const { options } = betterAuth({
      database: theirs,
      secret: 'only for asking what it would make 0123456789',
      baseURL: 'http://localhost',
      emailAndPassword: { enabled: true },
      rateLimit: { enabled: true, storage: 'database' },
      logger: { disabled: true },
    })
    const { runMigrations } = await getMigrations(options)
    await runMigrations()
    const [ours, expected] = [await describe(pool, 'auth'), await describe(pool, 'expected')]
    assert.ok(expected.columns.length > 30)
    assert.deepEqual(ours, expected)
  } finally {
    await theirs.end()
    await pool.end()
  }
})

async function describe(pool: pg.Pool, schema: string) {
  const columns = await pool.query(
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
     where table_schema = $1 order by 1, 2`,
    [schema],
  )
  const indexes = await pool.query(
    `select tablename, indexname, replace(indexdef, $1 || '.', '') as definition from pg_indexes where schemaname = $1 order by 1, 2`,
    [schema],
  )
  const references = await pool.query(
    `select conname, replace(pg_get_constraintdef(oid), $1 || '.', '') as definition from pg_constraint
     where connamespace = $1::regnamespace and contype = 'f' order by 1`,
    [schema],
  )
  return { columns: columns.rows, indexes: indexes.rows, references: references.rows }
}
