import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePorts } from '../../../../../scripts/free-ports.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded/start.ts'
import { kill } from '../../embedded/processes.ts'
import { tempDir } from '../../embedded/temp-dir.ts'
import { undoAfter } from '../../embedded/undo.ts'
import type { Ending } from '../ending.ts'
import { openTcpProxy, type TcpProxy } from './tcp-proxy.ts'

// PostgreSQL as somebody else's server: reached over TCP, with a password, and mortal.

export type PostgresServer = {
  /** The way that all nodes take. */
  network: TcpProxy
  /** A new database, by its address past the network. */
  createDatabase(): Promise<string>
  /** The address that nodes are given. */
  overNetwork(databaseUrl: string): string
  /** Ends it without a warning; returns when it is gone. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Whether writing is refused, as while a standby is not yet promoted. */
  setReadOnly(readOnly: boolean): Promise<void>
}

const PASSWORD = randomBytes(16).toString('hex')
const START_WITHIN_MS = 60_000
const HBA = 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n'

export async function startPostgresServer(t: Ending): Promise<PostgresServer> {
  const dir = tempDir(t)
  const [port = 0] = await freePorts(1)
  const network = await openTcpProxy(t, [port])
  const start = () => startEmbedded(dir, { listenTcpPort: port, waitMs: START_WITHIN_MS })
  let postgres: EmbeddedPostgres = await start()
  undoAfter(t, () => postgres.stop())
  await ask(`alter role ${postgres.connection.user} password '${PASSWORD}'`)
  await writeFile(join(dir, 'pg18', 'pg_hba.conf'), HBA)
  await ask('select pg_reload_conf()')

  async function ask(...statements: string[]): Promise<void> {
    const client = new pg.Client(postgres.connection)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  return {
    network,
    async createDatabase() {
      const name = `cluster_${randomBytes(8).toString('hex')}`
      await ask(`create database ${name}`)
      return `postgres://${postgres.connection.user}:${PASSWORD}@127.0.0.1:${port}/${name}`
    },
    overNetwork: (databaseUrl) => databaseUrl.replace(`:${port}/`, `:${network.port}/`),
    async kill() {
      kill(postgres.pid)
      await postgres.exited
    },
    async start() {
      postgres = await start()
    },
    setReadOnly: (readOnly) =>
      ask(`alter system set default_transaction_read_only = ${readOnly}`, 'select pg_reload_conf()'),
  }
}
