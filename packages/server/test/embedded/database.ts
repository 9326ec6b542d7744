import type { TestContext } from 'node:test'
import pg from 'pg'
import {
  type Connection,
  type EmbeddedPostgres,
  type StartOptions,
  startEmbedded,
} from '../../src/db/embedded/start.ts'
import { undoAfter } from './undo.ts'

/** A server that is stopped after the test, if it still runs then. */
export async function start(
  t: TestContext,
  dataDir: string,
  options?: StartOptions,
): Promise<EmbeddedPostgres> {
  const server = await startEmbedded(dataDir, options)
  undoAfter(t, () => server.stop())
  return server
}

export async function connect(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client(connection)
  client.on('error', () => {}) // a server that stops or is killed ends its sessions
  await client.connect()
  return client
}

/** The first column of the first row. */
export async function ask(connection: Connection, sql: string): Promise<string> {
  const client = await connect(connection)
  try {
    const { rows } = await client.query<[unknown]>({ text: sql, rowMode: 'array' })
    return String(rows[0]?.[0])
  } finally {
    await client.end()
  }
}
