import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Ending } from '../../../server/test/support/ending.ts'

// A bad link: a TCP proxy before the real service that does to each connection what the test says.

export type Fault =
  | 'none'
  /** Closed or reset after so many bytes of the client. */
  | { cut: number }
  | { reset: number }
  /** The answers are cut off after so many bytes. */
  | { truncate: number }
  /** Answered here, after the head of the request, without asking the service. */
  | { answer: string }
  /** Forwarded this much later. */
  | { delayMs: number }
  /** Taken and never forwarded. */
  | 'silence'

export type FaultProxy = {
  url: string
  /** Where the service is now. */
  target: string
  /** What happens to the next connection; `first` is what its client sent first. */
  fault: (first: string, connection: number) => Fault
  /** Bytes of clients that were forwarded. */
  forwardedBytes: number
  connections: number
  /** When so many bytes have been forwarded in all. */
  untilForwarded(bytes: number): Promise<void>
  /** Cuts everything that is open. */
  cutAll(): void
  /** From now on nobody listens, until it does again. */
  close(): void
  listen(): Promise<void>
}

export async function startFaultProxy(t: Ending): Promise<FaultProxy> {
  const open = new Set<Socket>()
  const waiters = new Set<{ bytes: number; resolve(): void }>()
  const server: Server = createServer((client) => {
    track(client)
    const connection = proxy.connections++
    client.once('data', (first) => {
      client.pause()
      relay(client, first, proxy.fault(first.toString('latin1'), connection))
    })
  })
  function track(socket: Socket): void {
    open.add(socket)
    socket.on('error', () => {}).once('close', () => open.delete(socket))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${port}`,
    target: '',
    fault: () => 'none',
    forwardedBytes: 0,
    connections: 0,
    async untilForwarded(bytes) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const waiter = { bytes, resolve }
      waiters.add(waiter)
      if (proxy.forwardedBytes >= bytes) resolve()
      await promise
      waiters.delete(waiter)
    },
    cutAll() {
      for (const socket of open) socket.destroy()
    },
    close() {
      server.close()
      proxy.cutAll()
    },
    async listen() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }

  function relay(client: Socket, first: Buffer, fault: Fault): void {
    if (fault === 'silence') return void client.resume()
    if (typeof fault === 'object' && 'answer' in fault) return answer(client, first, fault.answer)
    const { hostname, port: targetPort } = new URL(proxy.target)
    const upstream = connect({ host: hostname, port: Number(targetPort), noDelay: true })
    track(upstream)
    const end = (reset = false) => {
      if (reset) client.resetAndDestroy()
      else client.destroy()
      upstream.destroy()
    }
    const { cut, reset, truncate } = limitsOf(fault)
    const limit = Math.min(cut, reset)
    let taken = 0
    const forward = (bytes: Buffer) => {
      const allowed = bytes.subarray(0, Math.max(0, limit - taken))
      taken += bytes.length
      proxy.forwardedBytes += allowed.length
      for (const waiter of waiters) if (proxy.forwardedBytes >= waiter.bytes) waiter.resolve()
      if (!upstream.write(allowed)) {
        client.pause()
        upstream.once('drain', () => client.resume())
      }
      if (taken >= limit) end(limit === reset)
    }
    let answered = 0
    upstream.on('data', (bytes: Buffer) => {
      const allowed = bytes.subarray(0, Math.max(0, truncate - answered))
      answered += bytes.length
      client.write(allowed)
      if (answered >= truncate) client.end(() => end())
    })
    const begin = () => {
      forward(first)
      client.on('data', forward)
      client.resume()
    }
    upstream.once('close', () => client.destroy())
    client.once('close', () => upstream.destroy())
    if (typeof fault === 'object' && 'delayMs' in fault) setTimeout(begin, fault.delayMs)
    else begin()
  }

  /** Reads what the client sends, so that it gets to read the answer. */
  function answer(client: Socket, first: Buffer, text: string): void {
    const length = Number(/^content-length: *(\d+)/im.exec(first.toString('latin1'))?.[1] ?? 0)
    const head = first.indexOf('\r\n\r\n') + 4
    let left = length - (first.length - head)
    const done = () => void client.end(text)
    if (left <= 0) return done()
    client.on('data', (bytes) => {
      left -= bytes.length
      if (left <= 0) done()
    })
    client.resume()
  }

  t.after(async () => {
    server.close()
    proxy.cutAll()
  })
  return proxy
}

function limitsOf(fault: Fault) {
  const none = {
    cut: Number.POSITIVE_INFINITY,
    reset: Number.POSITIVE_INFINITY,
    truncate: Number.POSITIVE_INFINITY,
  }
  return typeof fault === 'object' ? { ...none, ...fault } : none
}

/** An answer as text, closed after it. */
export function httpAnswer(status: number, headers: Record<string, string> = {}, body = ''): string {
  const lines = Object.entries({ Connection: 'close', 'Content-Length': String(body.length), ...headers })
  return `HTTP/1.1 ${status} Fault\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}
