import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { S3Settings } from '../../src/storage/s3/client.ts'

// Stands between the service and its store, passes everything on, and does to chosen requests what stores and networks
// do: an answer of 503, a connection that is cut, a silence, one that ends when it is released, an answer that is lost after the work
// was done.

export type Fault = 'busy' | 'cut' | 'cut in the body' | 'answer lost' | 'hang' | 'hold'

export type FaultyStore = {
  /** The same bucket, through here. */
  settings: S3Settings
  /** Does this to the next requests for which `matches` is true. */
  inject(fault: Fault, matches: (method: string, path: string) => boolean, times?: number): void
  /** How many faults have happened. */
  happened(): number
  /** How many requests are held now. */
  holds(): number
  /** Lets go on what is held, and holds nothing more. */
  release(): void
  close(): Promise<void>
}

type Rule = { fault: Fault; matches: (method: string, path: string) => boolean; times: number }

export async function openFaultyStore(settings: S3Settings): Promise<FaultyStore> {
  const target = new URL(settings.endpoint)
  const rules: Rule[] = []
  const held = new Map<IncomingMessage, () => void>()
  let happened = 0

  function faultOf(method = '', path = ''): Fault | undefined {
    const rule = rules.find(({ matches, times }) => times > 0 && matches(method, path))
    if (!rule) return undefined
    rule.times--
    happened++
    return rule.fault
  }

  const server = http.createServer((request, response) => {
    const fault = faultOf(request.method, request.url)
    if (fault === 'hang') return
    if (fault === 'hold') {
      held.set(request, () => passOn(target, request, response, false))
      return void response.on('close', () => held.delete(request))
    }
    if (fault === 'cut') return void request.socket.destroy()
    if (fault === 'busy') {
      request.resume()
      response.writeHead(503, { connection: 'close' })
      return void response.end('<Error><Code>SlowDown</Code></Error>')
    }
    if (fault === 'cut in the body') {
      let bytes = 0
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > 100_000) request.socket.destroy()
      })
      return
    }
    passOn(target, request, response, fault === 'answer lost')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    settings: { ...settings, endpoint: `http://127.0.0.1:${port}${target.pathname}` },
    inject: (fault, matches, times = 1) => void rules.push({ fault, matches, times }),
    happened: () => happened,
    holds: () => held.size,
    release() {
      for (const rule of rules) if (rule.fault === 'hold') rule.times = 0
      for (const goOn of held.values()) goOn()
      held.clear()
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function passOn(target: URL, request: IncomingMessage, response: ServerResponse, losing: boolean): void {
  // The host is signed: it has to stay as it is sent.
  const upstream = http.request({
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers: request.headers,
    setHost: false,
    agent: false,
  })
  const breakOff = () => {
    request.socket.destroy()
    upstream.destroy()
  }
  upstream.on('error', breakOff).on('response', (answer) => {
    if (losing) return breakOff()
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  request.on('error', breakOff).on('aborted', breakOff).pipe(upstream)
}
