import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Ending } from './ending.ts'

// Real receivers of webhooks on loopback.

export type Delivered = {
  path: string
  headers: IncomingMessage['headers']
  body: string
  atMs: number
}

export type Receiver = {
  url: string
  /** An address at this receiver whose deliveries have this path. */
  at(path: string): string
  /** All that arrived, in order. */
  delivered: Delivered[]
  /** Resolves when at least so many have arrived, of one type if it is named. */
  arrived(count: number, type?: string): Promise<Delivered[]>
  /** Requests that are neither answered nor given up by the service. */
  inFlight(): number
  maxInFlight(): number
}

export type Answer = (response: ServerResponse, delivered: Delivered, index: number) => void

type Settings = { answer?: Answer; tls?: { key: string; cert: string }; host?: string }

const ARRIVE_WITHIN_MS = 30_000

/**
 * A receiver that answers 200 unless told otherwise. What is meant for an earlier one, whose port it has got by chance,
 * is none of its business.
 */
export async function startReceiver(t: Ending, settings: Settings = {}): Promise<Receiver> {
  const { answer = (response) => response.end(), tls, host = '127.0.0.1' } = settings
  const delivered: Delivered[] = []
  const waiting = new Set<() => void>()
  let inFlight = 0
  let maxInFlight = 0
  const own = `/${randomUUID()}`
  const receive: RequestListener = async (request, response) => {
    if (!request.url?.startsWith(own)) return void response.writeHead(410).end()
    inFlight++
    maxInFlight = Math.max(maxInFlight, inFlight)
    response.once('close', () => inFlight--)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const item = {
      path: request.url.slice(own.length),
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      atMs: performance.now(),
    }
    delivered.push(item)
    answer(response, item, delivered.length - 1)
    for (const look of waiting) look()
  }
  const server = tls ? createTlsServer(tls, receive) : createServer(receive)
  const port = await listen(server, host)
  t.after(async () => {
    server.closeAllConnections()
    await closed(server)
  })
  const at = (path: string) => `${tls ? 'https' : 'http'}://${host}:${port}${own}${path}`
  return {
    url: at('/hook'),
    at,
    delivered,
    async arrived(count, type) {
      const sofar = () => (type ? delivered.filter(({ body }) => JSON.parse(body).type === type) : delivered)
      const enough = new Promise<void>((resolve) => {
        const look = () => {
          if (sofar().length >= count) resolve()
        }
        waiting.add(look)
        look()
      })
      await inTime(enough, () => `${sofar().length} of ${count} have arrived`)
      return sofar()
    },
    inFlight: () => inFlight,
    maxInFlight: () => maxInFlight,
  }
}

/** A receiver that does with the bare connection what it likes, once a request has begun to arrive. */
export async function startRawReceiver(
  t: Ending,
  act: (socket: Socket, requests: number) => void,
): Promise<{ url: string; requests(): number }> {
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    // A reset by the other side is as good an end as any.
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      socket.resume()
      act(socket, ++requests)
    })
  })
  const port = await listen(server, '127.0.0.1')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await closed(server)
  })
  return { url: `http://127.0.0.1:${port}/hook`, requests: () => requests }
}

/** An address on which nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = createTcpServer()
  const port = await listen(server, '127.0.0.1')
  await closed(server)
  return `http://127.0.0.1:${port}/hook`
}

async function listen(server: Server, host: string): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the receiver has no port')
  return address.port
}

async function closed(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}

async function inTime(promise: Promise<void>, state: () => string): Promise<void> {
  const timer = new AbortController()
  const late = delay(ARRIVE_WITHIN_MS, 'late', { signal: timer.signal }).catch(() => {})
  if ((await Promise.race([promise, late])) === 'late')
    throw new Error(`waited in vain for the receiver: ${state()}`)
  timer.abort()
}
