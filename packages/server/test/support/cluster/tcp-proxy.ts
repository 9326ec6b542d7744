import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { undoAfter } from '../../embedded/undo.ts'
import type { Ending } from '../ending.ts'

// Stands on a fixed port before those who come and go, and does what balancers and networks do: spreads connections, cuts
// them, refuses new ones, or lets no byte pass without a word.

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

/** `targets` are ports of this machine, looked at anew for each connection: they take turns, and who is down is left out. */
export async function openTcpProxy(t: Ending, targets: Iterable<number>): Promise<TcpProxy> {
  let mode: Mode = 'pass'
  let turn = 0
  const open = new Set<Socket>()

  const server = createServer(
    { allowHalfOpen: true, noDelay: true, pauseOnConnect: true },
    async (client) => {
      client.on('error', () => {})
      const upstream = mode === 'refuse' ? undefined : await connectInTurn()
      // Meanwhile the client may have gone, or nobody is let in any more.
      if (!upstream || client.destroyed || mode === 'refuse') {
        upstream?.destroy()
        client.destroy()
        return
      }
      join(client, upstream)
      join(upstream, client)
      if (mode === 'pass') client.resume()
    },
  )

  async function connectInTurn(): Promise<Socket | undefined> {
    const ports = [...targets]
    const first = turn++
    for (const tries of ports.keys()) {
      const port = ports[(first + tries) % ports.length] ?? 0
      const upstream = createConnection({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true })
      try {
        await once(upstream, 'connect')
        return upstream
      } catch {
        upstream.destroy()
      }
    }
    return undefined
  }

  function join(from: Socket, to: Socket): void {
    open.add(from)
    from
      .on('data', (bytes) => {
        if (!to.write(bytes)) from.pause()
      })
      .on('end', () => to.end())
      .on('error', () => to.destroy())
      .on('close', () => open.delete(from))
    to.on('drain', () => {
      if (mode === 'pass') from.resume()
    })
    if (mode === 'stall') from.pause()
  }

  function cut(): void {
    for (const socket of open) socket.destroy()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  undoAfter(t, async () => {
    mode = 'refuse'
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
