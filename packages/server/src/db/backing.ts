import type { FastifyBaseLogger } from 'fastify'
import { type Database, openDatabase } from './database.ts'
import { type EmbeddedPostgres, startEmbedded } from './embedded/start.ts'
import { migrate } from './migrate.ts'
import { previousSecretOf, secretOf } from './secret-file.ts'

// The database behind the service: the operator's PostgreSQL, or one that we run in the data directory and
// start again should it ever end by itself.

export type Backing = {
  database: Database
  /** Ours alone: nobody else can be using it. */
  embedded: boolean
  secrets: { current: string; next: string | undefined; previous: string | undefined }
  /** The schema that the code was written for. */
  codeVersion: number
  close(): Promise<void>
}

type Settings = {
  dataDir: string
  /** Undefined: embedded. */
  databaseUrl: string | undefined
  databaseConnections: number | undefined
  /** Undefined: kept in the data directory. */
  secret: string | undefined
  nextSecret: string | undefined
  previousSecret: string | undefined
}

const RESTART_DELAY_MS = 200

export async function openBackingDatabase(config: Settings, log: FastifyBaseLogger): Promise<Backing> {
  const options = {
    ...(config.databaseConnections && { maxConnections: config.databaseConnections }),
    onError: (err: Error) => log.warn({ err }, 'a database connection broke'),
  }
  if (config.databaseUrl && config.secret) {
    const connection = { connectionString: config.databaseUrl }
    const { codeVersion } = await migrate(connection)
    const database = openDatabase(connection, options)
    const secrets = given(config.secret, config)
    return { database, embedded: false, secrets, codeVersion, close: database.close }
  }
  const keeper = await keepRunning(config.dataDir, log)
  try {
    const { codeVersion } = await migrate(keeper.connection, { alone: true })
    const database = openDatabase(keeper.connection, options)
    const close = async () => {
      await database.close()
      await keeper.stop()
    }
    const secrets = config.secret ? given(config.secret, config) : await kept(config.dataDir)
    return { database, embedded: true, secrets, codeVersion, close }
  } catch (error) {
    await keeper.stop()
    throw error
  }
}

function given(current: string, { nextSecret, previousSecret }: Settings): Backing['secrets'] {
  return { current, next: nextSecret, previous: previousSecret }
}

async function kept(dataDir: string): Promise<Backing['secrets']> {
  return { current: await secretOf(dataDir), next: undefined, previous: await previousSecretOf(dataDir) }
}

async function keepRunning(dataDir: string, log: FastifyBaseLogger) {
  let stopping = false
  let postgres = await start()

  async function start(socketDir?: string): Promise<EmbeddedPostgres> {
    return startEmbedded(dataDir, {
      ...(socketDir !== undefined && { socketDir }),
      onWait: (pid) =>
        log.warn({ pid, dataDir }, 'another service still holds the data directory; waiting for it to stop'),
    })
  }

  async function watch(): Promise<void> {
    for (;;) {
      await postgres.exited
      if (stopping) return
      log.error('PostgreSQL ended by itself; starting it again')
      await new Promise((resolve) => setTimeout(resolve, RESTART_DELAY_MS))
      if (stopping) return
      postgres = await start(postgres.connection.host).catch((err: unknown) => {
        log.error({ err }, 'PostgreSQL could not be started again')
        return postgres
      })
    }
  }
  const watching = watch()
  return {
    connection: postgres.connection,
    async stop() {
      stopping = true
      await postgres.stop()
      await watching
    },
  }
}
