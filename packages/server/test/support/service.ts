import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { createKey, type Permission } from '../../src/access/keys.ts'
import { createOrganisation } from '../../src/access/organisations.ts'
import type { Overrides } from '../../src/app/base.ts'
import { type App, startApp } from '../../src/app.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { TEMPLATE } from './global-setup.ts'

// The real service in this process: real PostgreSQL, real files, real HTTP.

export type Service = {
  url: string
  /** A read,write key of the organisation `default`. */
  key: string
  /** Makes the first account. */
  firstLink: string
  databaseUrl: string
  dataDir: string
  database: Database
  makeKey(options?: {
    organisation?: string
    permissions?: Permission[]
    mode?: 'live' | 'test'
  }): Promise<string>
  /** Stops and starts on the same data, as after a crash of the process but for its sudden end. */
  restart(): Promise<void>
  /** The same at the same address, with something done while nothing answers there. */
  restartInPlace(whileDown: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

type Options = Overrides & {
  env?: Record<string, string>
  /** Takes every line of the log, of every level. */
  logTo?: pino.DestinationStream
  /** Another node of this service, on the same data. */
  beside?: Service
}

// The service shares its thread with the test: what the test takes of it must not count as load.
const patience: Overrides = { loadLimits: { loopDelayMs: 60_000 } }

export async function startService({ env = {}, logTo, beside, ...given }: Options = {}): Promise<Service> {
  const overrides = { ...patience, ...given }
  const databaseUrl = beside?.databaseUrl ?? (await createDatabase())
  const dataDir = beside?.dataDir ?? (await mkdtemp(join(tmpdir(), 'tapedeck-data-')))
  const config = readConfig({
    TAPEDECK_PORT: '0',
    TAPEDECK_DATA_DIR: dataDir,
    TAPEDECK_SECRET: 'a secret that only the tests use, and all of them',
    TAPEDECK_RATE_LIMIT: '1000000',
    DATABASE_URL: databaseUrl,
    ...env,
  })
  const log = logTo ? pino({ level: 'trace' }, logTo) : pino({ level: process.env.TEST_LOG ?? 'silent' })
  let app: App = await startApp(config, log, overrides)
  const database = openDatabase({ connectionString: databaseUrl }, { maxConnections: 4 })
  const [key, firstLink] = [app.firstKey?.key ?? beside?.key, app.firstLink]
  if (!key || !firstLink) throw new Error('a fresh service makes a first key and a first link')
  const service: Service = {
    url: app.addresses.baseUrl,
    key,
    firstLink,
    databaseUrl,
    dataDir,
    database,
    async makeKey({ organisation = 'default', permissions, mode = 'live' } = {}) {
      if (organisation !== 'default') await createOrganisation(database.db, systemClock, organisation)
      const { key } = await createKey(database.db, systemClock, {
        organisation,
        permissions: permissions ?? ['read', 'write'],
        mode,
        name: 'test',
      })
      return key
    },
    async restart() {
      await app.close()
      app = await startApp(config, log, overrides)
      service.url = app.addresses.baseUrl
      service.firstLink = app.firstLink ?? ''
    },
    async restartInPlace(whileDown) {
      const port = Number(new URL(service.url).port)
      await app.close()
      await whileDown()
      app = await startApp({ ...config, port }, log, overrides)
    },
    async close() {
      await app.close()
      await database.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
  return service
}

/** As a service has left it that has not been used yet. */
export const createDatabase = (): Promise<string> => createFrom(TEMPLATE)

export const createEmptyDatabase = (): Promise<string> => createFrom('template1')

async function createFrom(template: string): Promise<string> {
  const server = process.env.TEST_POSTGRES_URL
  if (!server) throw new Error('run the tests with npm test, which starts PostgreSQL for them')
  const name = `test_${randomBytes(8).toString('hex')}`
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client.query(`create database ${name} template ${template}`)
  await client.end()
  return server.replace('/postgres?', `/${name}?`)
}
