import { readDatabaseConfig } from './config.ts'
import { type Connection, type Db, openDatabase } from './db/database.ts'
import { findRunning, startEmbedded } from './db/embedded/start.ts'
import { migrate } from './db/migrate.ts'

// What the `tapedeck` command does on the machine of the service, whether the service runs or not.

export {
  type CreatedKey,
  createKey,
  type KeyRecord,
  listKeys,
  type Permission,
  revokeKey,
} from './access/keys.ts'
export { createOrganisation, listOrganisations, type Organisation } from './access/organisations.ts'
export { systemClock } from './clock.ts'
export { ConfigError } from './config.ts'
export { countWaiting, setPaused } from './operate/gate.ts'

/** Runs `work` on the database that the environment names: the running one, or one started for as long as it takes. */
export async function withDatabase<T>(env: NodeJS.ProcessEnv, work: (db: Db) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = readDatabaseConfig(env)
  if (databaseUrl) return use({ connectionString: databaseUrl }, work)
  const running = await findRunning(dataDir)
  if (running) return use(running, work)
  const own = await startEmbedded(dataDir)
  try {
    return await use(own.connection, work)
  } finally {
    // Another command may have found our server meanwhile: it may finish.
    await own.stop('smart')
  }
}

async function use<T>(connection: Connection, work: (db: Db) => Promise<T>): Promise<T> {
  await migrate(connection)
  const database = openDatabase(connection, { maxConnections: 2 })
  try {
    return await work(database.db)
  } finally {
    await database.close()
  }
}
