import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import type { Stage } from '../bench/support/stage.ts'

// Stands between two sides of a network: spreads connections over those who listen behind it, cuts them, or lets nothing
// pass for a while, as cables and balancers do.

export type Relay = {
  port: number
  cut(): void
  /** Connections stay, but nothing passes until it is let go. */
  hold(): void
  letGo(): void
}

export async function openRelay(stage: Stage, targetPorts: number[]): Promise<Relay> {
  const sockets = new Set<Socket>()
  let held = false
  let turn = 0

  async function connectInTurn(): Promise<Socket | undefined> {
    const first = turn++
    for (let tries = 0; tries < targetPorts.length; tries++) {
      const port = targetPorts[(first + tries) % targetPorts.length] ?? 0
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

  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    if (held) socket.pause()
  }

  function pass(from: Socket, to: Socket): void {
    from
      .on('data', (chunk) => {
        if (!to.write(chunk)) from.pause()
      })
      .on('end', () => to.end())
      .on('error', () => to.resetAndDestroy())
    to.on('drain', () => {
      if (!held) from.resume()
    })
  }

  const server = createServer(
    { allowHalfOpen: true, noDelay: true, pauseOnConnect: true },
    async (client) => {
      client.on('error', () => {})
      const upstream = await connectInTurn()
      if (!upstream) return void client.resetAndDestroy()
      pass(client, upstream)
      pass(upstream, client)
      if (!held) client.resume()
      keep(client)
      keep(upstream)
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  stage.onEnd(() => {
    server.close()
    cut()
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the relay has no port')
  return {
    port: address.port,
    cut,
    hold() {
      held = true
      for (const socket of sockets) socket.pause()
    },
    letGo() {
      held = false
      for (const socket of sockets) socket.resume()
    },
  }
}
