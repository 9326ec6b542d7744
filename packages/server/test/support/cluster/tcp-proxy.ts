import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { undoAfter } from '../../embedded/undo.ts'
import type { Ending } from '../ending.ts'

// Stands on a fixed port before something that is restarted elsewhere, and does what networks do: cuts connections,
// refuses new ones, or lets no byte pass without a word.

export type TcpProxy = {
  port: number
  pass(): void
  /** Breaks what is open. */
  cut(): void
  /** Breaks what is open and takes nothing new. */
  refuse(): void
  /** From now on nothing moves on connections old and new, and nobody is told. */
  stall(): void
}

type Mode = 'pass' | 'refuse' | 'stall'

/** `target` says, for each connection, on which port of this machine it ends; nowhere: it is refused. */
export async function openTcpProxy(t: Ending, target: () => number | undefined): Promise<TcpProxy> {
  let mode: Mode = 'pass'
  const open = new Set<Socket>()

  const server = createServer((client) => {
    const port = mode === 'refuse' ? undefined : target()
    if (port === undefined) return void client.on('error', () => {}).destroy()
    const upstream = createConnection({ port, host: '127.0.0.1' })
    join(client, upstream)
    join(upstream, client)
  })

  function join(from: Socket, to: Socket): void {
    open.add(from)
    from
      .on('data', (bytes) => {
        if (!to.write(bytes)) from.pause()
      })
      .on('end', () => to.end())
      .on('error', () => {})
      .on('close', () => {
        open.delete(from)
        to.destroy()
      })
    to.on('drain', () => {
      if (mode !== 'stall') from.resume()
    })
    if (mode === 'stall') from.pause()
  }

  function cut(): void {
    for (const socket of open) socket.destroy()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  undoAfter(t, async () => {
    cut()
    server.close()
    await once(server, 'close')
  })
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    pass() {
      mode = 'pass'
      for (const socket of open) socket.resume()
    },
    refuse() {
      mode = 'refuse'
      cut()
    },
    stall() {
      mode = 'stall'
      for (const socket of open) socket.pause()
    },
  }
}

/** A port that nobody uses at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
