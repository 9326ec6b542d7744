import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded/start.ts'

// One real PostgreSQL for all test files of a run; each service in a test gets a database of its own in it.

let dir = ''
let postgres: EmbeddedPostgres | undefined

export async function globalSetup(): Promise<void> {
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-test-'))
  postgres = await startEmbedded(dir)
  const { host, user } = postgres.connection
  process.env.TEST_POSTGRES_URL = `postgres://${user}@/postgres?host=${encodeURIComponent(host)}`
}

export async function globalTeardown(): Promise<void> {
  await postgres?.stop()
  await rm(dir, { recursive: true, force: true })
}
