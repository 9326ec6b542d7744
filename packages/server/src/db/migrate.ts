import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { systemCode } from '../errors.ts'
import type { Connection } from './database.ts'
import { type Migration, migrationsDir, readMigrations } from './migrations.ts'
import { LEASE_S } from './nodes.ts'

// Migrations are numbered .sql files, each applied in one transaction, forward only. An advisory lock lets any number
// of nodes start at once; an edited migration is refused.
//
// Nodes of two versions run side by side while they are exchanged, so a migration says which code goes on working once
// it is applied, and the database remembers. Older code starts on a newer schema that keeps it working, and on no
// other. A migration that would break a node is not applied while that node is running.

const LOCK = 8_420_001
/** Nodes of code up to this version do not say which version it is. */
const LAST_SILENT_VERSION = 5
const PATIENCE_MS = (LEASE_S + 5) * 1000
/** Whoever waits for a lock on a table makes all others wait behind it: so not for long, and again later. */
const LOCK_WAIT_MS = 2_000
const LOCKED_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 250

export type Migrated = {
  /** Names of the migrations that were applied now. */
  applied: string[]
  /** What the code was written for; the schema may be newer. */
  codeVersion: number
}

type Options = {
  dir?: string
  /** No other process can be using this database. */
  alone?: boolean
  /** How long to wait for nodes that a migration would break: one that was killed is seen for a while. */
  patienceMs?: number
}

/** Brings the schema up to date. */
export async function migrate(connection: Connection, options: Options = {}): Promise<Migrated> {
  const migrations = await readMigrations(options.dir ?? migrationsDir)
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK])
    return { applied: await applyMissing(client, migrations, options), codeVersion: migrations.length }
  } finally {
    await client.end()
  }
}

type Applied = { version: number; name: string; sha256: string; oldest_code: number | null }

async function applyMissing(
  client: pg.Client,
  migrations: Migration[],
  { alone = false, patienceMs = PATIENCE_MS }: Options,
): Promise<string[]> {
  await ensureRecord(client)
  const { rows } = await client.query<Applied>(
    'select version, name, sha256, oldest_code from schema_migrations order by version',
  )
  for (const row of rows) refuseStranger(row, migrations)
  const missing = migrations.slice(rows.length)
  for (const migration of missing) {
    if (!alone) await untilNobodyBreaks(client, migration, patienceMs)
    await applyOnceUnlocked(client, migration)
  }
  return missing.map(({ name }) => name)
}

/** Looked for first: a change of the table would wait for a backup that reads it. */
async function ensureRecord(client: pg.Client): Promise<void> {
  await client.query(`create table if not exists schema_migrations (
    version integer primary key, name text not null, sha256 text not null,
    applied_at timestamptz not null default now())`)
  const { rowCount } = await client.query(
    "select 1 from pg_attribute where attrelid = 'schema_migrations'::regclass and attname = 'oldest_code'",
  )
  if (rowCount === 0) await client.query('alter table schema_migrations add column oldest_code integer')
}

function refuseStranger(row: Applied, migrations: Migration[]): void {
  const ours = migrations[row.version - 1]
  if (!ours) {
    if ((row.oldest_code ?? row.version) <= migrations.length) return
    throw new Error(
      `the database has schema version ${row.version} (${row.name}), which this code of version ` +
        `${migrations.length} cannot use; run the newer version`,
    )
  }
  if (ours.sha256 !== row.sha256) {
    throw new Error(`migration ${ours.name} was applied with other contents; a migration is never edited`)
  }
}

async function untilNobodyBreaks(
  client: pg.Client,
  { name, oldestCode }: Migration,
  patienceMs: number,
): Promise<void> {
  for (const deadline = Date.now() + patienceMs; ; await sleep(LOOK_EVERY_MS)) {
    const older = await runningNodes(client, oldestCode)
    if (older.length === 0) return
    if (Date.now() < deadline) continue
    throw new Error(
      `migration ${name} would break node ${older.join(', ')}, which runs code older than version ${oldestCode}; ` +
        'stop it, then start this version again',
    )
  }
}

/** Numbers of the nodes that run code older than a version. Early schemas have no nodes, or nodes that do not say it. */
async function runningNodes(client: pg.Client, olderThan: number): Promise<string[]> {
  const { rows: known } = await client.query("select to_regclass('nodes') is not null as there")
  if (!known[0]?.there) return []
  const { rows } = await client.query<{ id: string }>(
    `select id from nodes where seen_at > now() - $1 * interval '1 second'
      and coalesce((to_jsonb(nodes) ->> 'schema_version')::int, $2) < $3 order by id`,
    [LEASE_S, LAST_SILENT_VERSION, olderThan],
  )
  return rows.map(({ id }) => id)
}

const LOCK_NOT_AVAILABLE = '55P03'

async function applyOnceUnlocked(client: pg.Client, migration: Migration): Promise<void> {
  for (const deadline = Date.now() + LOCKED_WITHIN_MS; ; await sleep(LOOK_EVERY_MS)) {
    try {
      return await apply(client, migration)
    } catch (error) {
      if (systemCode(error) === LOCK_NOT_AVAILABLE && Date.now() < deadline) continue
      throw new Error(
        `migration ${migration.name} failed: ${error instanceof Error ? error.message : error}`,
        {
          cause: error,
        },
      )
    }
  }
}

async function apply(
  client: pg.Client,
  { version, name, sql, sha256, oldestCode }: Migration,
): Promise<void> {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`)
    await client.query(sql)
    await client.query(
      'insert into schema_migrations (version, name, sha256, oldest_code) values ($1, $2, $3, $4)',
      [version, name, sha256, oldestCode],
    )
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
