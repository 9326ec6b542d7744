import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Connection } from './database.ts'

// Migrations are numbered .sql files, each applied in one transaction, forward only. An advisory lock lets
// any number of nodes start at once; a schema newer than this code is refused, so is an edited migration.

const LOCK = 8_420_001
export const migrationsDir = join(import.meta.dirname, '..', '..', 'migrations')

type Migration = { version: number; name: string; sql: string; sha256: string }

/** Brings the schema up to date and returns what was applied. */
export async function migrate(connection: Connection, dir = migrationsDir): Promise<string[]> {
  const migrations = await readMigrations(dir)
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK])
    return await applyMissing(client, migrations)
  } finally {
    await client.end()
  }
}

async function readMigrations(dir: string): Promise<Migration[]> {
  const files = (await readdir(dir)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (name, index) => {
      const version = index + 1
      if (!name.startsWith(`${String(version).padStart(4, '0')}_`)) {
        throw new Error(`migration ${name} is out of sequence: expected number ${version}`)
      }
      const sql = await readFile(join(dir, name), 'utf8')
      return { version, name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function applyMissing(client: pg.Client, migrations: Migration[]): Promise<string[]> {
  await client.query(`create table if not exists schema_migrations (
    version integer primary key, name text not null, sha256 text not null,
    applied_at timestamptz not null default now())`)
  const { rows } = await client.query<{ version: number; name: string; sha256: string }>(
    'select version, name, sha256 from schema_migrations order by version',
  )
  for (const row of rows) refuseStranger(row, migrations[row.version - 1])
  const missing = migrations.slice(rows.length)
  for (const migration of missing) await apply(client, migration)
  return missing.map((migration) => migration.name)
}

function refuseStranger(
  row: { version: number; name: string; sha256: string },
  ours: Migration | undefined,
): void {
  if (!ours) {
    throw new Error(
      `the database has schema version ${row.version} (${row.name}), newer than this code knows; run the newer version`,
    )
  }
  if (ours.sha256 !== row.sha256) {
    throw new Error(`migration ${ours.name} was applied with other contents; a migration is never edited`)
  }
}

async function apply(client: pg.Client, { version, name, sql, sha256 }: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(sql)
    await client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
      version,
      name,
      sha256,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}
