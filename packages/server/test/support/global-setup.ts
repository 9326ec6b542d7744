import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded/start.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openJobs } from '../../src/jobs/jobs.ts'

// One real PostgreSQL for all test files of a run; each service in a test gets a database of its own in it, as a copy of
// one that is migrated once.

export const TEMPLATE = 'tapedeck_template'

let dir = ''
let postgres: EmbeddedPostgres | undefined

export async function globalSetup(): Promise<void> {
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-test-'))
  postgres = await startEmbedded(dir)
  const { host, user } = postgres.connection
  process.env.TEST_POSTGRES_URL = `postgres://${user}@/postgres?host=${encodeURIComponent(host)}`
  await makeTemplate(process.env.TEST_POSTGRES_URL)
}

async function makeTemplate(server: string): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client.query(`create database ${TEMPLATE}`)
  await client.end()
  const connection = { connectionString: server.replace('/postgres?', `/${TEMPLATE}?`) }
  await migrate(connection)
  const failed = (error: Error) => {
    throw error
  }
  const jobs = await openJobs(connection, failed)
  await jobs.stop()
}

export async function globalTeardown(): Promise<void> {
  await postgres?.stop()
  await rm(dir, { recursive: true, force: true })
}
