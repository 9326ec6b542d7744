import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded/start.ts'
import { kill } from '../../embedded/processes.ts'
import { tempDir } from '../../embedded/temp-dir.ts'
import { undoAfter } from '../../embedded/undo.ts'
import type { Ending } from '../ending.ts'
import { freePort, openTcpProxy, type TcpProxy } from './tcp-proxy.ts'

// PostgreSQL as somebody else's server: reached over TCP, with a password, and mortal.

export type PostgresServer = {
  /** The way that all nodes take. */
  network: TcpProxy
  /** A new database, by the address that nodes are given. */
  createDatabase(): Promise<string>
  /** Ends it without a warning; returns when it is gone. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Whether writing is refused, as while a standby is not yet promoted. */
  setReadOnly(readOnly: boolean): Promise<void>
}

const PASSWORD = randomBytes(16).toString('hex')
const HBA = 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n'

export async function startPostgresServer(t: Ending): Promise<PostgresServer> {
  const dir = tempDir(t)
  let port = await freePort()
  const network = await openTcpProxy(t, () => port)
  let postgres: EmbeddedPostgres = await startEmbedded(dir, { listenTcpPort: port })
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
      return `postgres://${postgres.connection.user}:${PASSWORD}@127.0.0.1:${network.port}/${name}`
    },
    async kill() {
      kill(postgres.pid)
      await postgres.exited
    },
    async start() {
      port = await freePort()
      postgres = await startEmbedded(dir, { listenTcpPort: port })
    },
    setReadOnly: (readOnly) =>
      ask(`alter system set default_transaction_read_only = ${readOnly}`, 'select pg_reload_conf()'),
  }
}
