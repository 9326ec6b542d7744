import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Delivered = { headers: IncomingMessage['headers']; body: string; atMs: number }

export type Receiver = {
  url: string
  /** All that arrived, in order. */
  delivered: Delivered[]
  /** Resolves when at least so many have arrived. */
  arrived(count: number): Promise<Delivered[]>
  close(): Promise<void>
}

type Answer = (response: ServerResponse, delivered: Delivered, index: number) => void

/** A real receiver on loopback; it answers 200 unless told otherwise. */
export async function startReceiver(answer: Answer = (response) => response.end()): Promise<Receiver> {
  const delivered: Delivered[] = []
  let waiting: { count: number; resolve: () => void }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const item = { headers: request.headers, body: Buffer.concat(chunks).toString(), atMs: performance.now() }
    delivered.push(item)
    answer(response, item, delivered.length - 1)
    waiting = waiting.filter(({ count, resolve }) => delivered.length < count || resolve())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    delivered,
    async arrived(count) {
      if (delivered.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }))
      return delivered
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
