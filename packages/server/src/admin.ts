import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { readDatabaseConfig, readStorageConfig } from './config.ts'
import { type Connection, type Database, type Db, isUnavailable, openDatabase } from './db/database.ts'
import { DirectoryInUse, findRunning, startEmbedded } from './db/embedded/start.ts'
import { migrate } from './db/migrate.ts'
import { type Collected, collectAll, type Wishes } from './operate/collect-all.ts'
import { openStorage, storageSettings } from './storage/open.ts'

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
export { ConfigError, readConsoleUrl } from './config.ts'
export { inviteAsOperator } from './console/invitations.ts'
export type { Collected } from './operate/collect-all.ts'
export { countWaiting, setPaused } from './operate/gate.ts'

const WAIT_MS = 60_000
const LOOK_EVERY_MS = 25

/** Runs `work` on the database that the environment names: the running one, or one started for as long as it takes. */
export async function withDatabase<T>(env: NodeJS.ProcessEnv, work: (db: Db) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = readDatabaseConfig(env)
  if (databaseUrl) return use(await connect({ connectionString: databaseUrl }), work)
  // Servers of other commands come and go. One that we found may be on its way down, and then takes nobody any more;
  // one that is being started by another command is not for us to start.
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(LOOK_EVERY_MS)) {
    try {
      const running = await findRunning(dataDir)
      if (running) return use(await connect(running), work)
      return await useOwn(dataDir, work)
    } catch (error) {
      if (!(error instanceof NotToBeHad) || Date.now() > deadline) throw error
    }
  }
}

/** Looks at all objects of the storage that the environment names, whoever else does. */
export async function collect(env: NodeJS.ProcessEnv, wishes: Wishes): Promise<Collected> {
  const storage = await openStorage(storageSettings(readStorageConfig(env)))
  try {
    return await withDatabase(env, (db) => collectAll({ db, storage }, wishes))
  } finally {
    storage.close()
  }
}

/** Nothing has been done yet, and it may be tried again. */
class NotToBeHad extends Error {}

async function useOwn<T>(dataDir: string, work: (db: Db) => Promise<T>): Promise<T> {
  const own = await startEmbedded(dataDir, { waitMs: 0 }).catch((error: unknown) => {
    throw error instanceof DirectoryInUse ? new NotToBeHad(error.message, { cause: error }) : error
  })
  try {
    return await use(await connect(own.connection), work)
  } finally {
    // Another command may have found our server meanwhile: it may finish.
    await own.stop('smart')
  }
}

/** One connection, made here and kept: a server that is being stopped lets it finish, and takes no other. */
async function connect(connection: Connection): Promise<Database> {
  const database = openDatabase(connection, { maxConnections: 1, idleTimeoutMs: 0, silenceMs: 0 })
  try {
    await migrate(connection)
    await sql`select 1`.execute(database.db)
    return database
  } catch (error) {
    await database.close()
    const isEmbedded = 'host' in connection
    if (isEmbedded && isUnavailable(error)) throw new NotToBeHad(String(error), { cause: error })
    throw error
  }
}

async function use<T>({ db, close }: Database, work: (db: Db) => Promise<T>): Promise<T> {
  try {
    return await work(db)
  } finally {
    await close()
  }
}
