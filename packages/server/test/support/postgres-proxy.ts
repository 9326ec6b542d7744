import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempDir } from '../embedded/temp-dir.ts'
import { undoAfter } from '../embedded/undo.ts'

// Stands between the service and PostgreSQL, and can lose one answer: the statement is carried out, then the
// connection breaks before the service hears of it. This is what a network or a crash does at the worst moment.

export type PostgresProxy = {
  /** The address that leads through here. */
  url: string
  /** Loses the answer to the next statement with this text, on a connection that has sent `after` before. */
  loseAnswerTo(statement: string, after?: string): void
  /** Whether the answer was lost. */
  hasLost(): boolean
}

type Wanted = { statement: string; after: string }

const SOCKET = '.s.PGSQL.5432'
/** ReadyForQuery, outside of a transaction: what was asked is done and committed. */
const READY_IDLE = Buffer.from('Z\0\0\0\x05I', 'latin1')

/** `databaseUrl` names a server by the directory of its socket. */
export async function openPostgresProxy(t: TestContext, databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl.replace('@/', '@localhost/'))
  const socketDir = target.searchParams.get('host') ?? ''
  const dir = tempDir(t)
  let wanted: Wanted | undefined
  const sockets = new Set<Socket>()

  const server = createServer((client) => {
    const upstream = createConnection(join(socketDir, SOCKET))
    let sent = ''
    let losing = false
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      if (wanted && sent.includes(wanted.after) && text.includes(wanted.statement)) {
        losing = true
        wanted = undefined
      }
      sent += text
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (!losing) return void client.write(bytes)
      if (bytes.includes(READY_IDLE)) client.destroy()
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
    }
  })
  server.listen(join(dir, SOCKET))
  await once(server, 'listening')
  undoAfter(t, () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: databaseUrl.replace(encodeURIComponent(socketDir), encodeURIComponent(dir)),
    loseAnswerTo(statement, after = '') {
      wanted = { statement, after }
    },
    hasLost: () => wanted === undefined,
  }
}
