// A receiver of webhooks that costs as little as can be. What comes under /hang is never answered, all else at once; it
// tells how many have arrived and when, but for those under /beside.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { announce } from './announce.ts'

/** The object of an event and when it arrived, in milliseconds since 1970. */
export type Arrival = [id: string, atMs: number]

let arrivals: Arrival[] = []
let waiting: { count: number; response: ServerResponse } | undefined

announce(
  createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://receiver')
    if (pathname === '/arrivals') response.end(JSON.stringify(arrivals.splice(0)))
    else if (pathname === '/wait') wait(Number(searchParams.get('count')), response)
    else if (!pathname.startsWith('/hang')) receive(request, response, !pathname.startsWith('/beside'))
  }),
)

/** Answers when so many have arrived; they are then forgotten. */
function wait(count: number, response: ServerResponse): void {
  waiting = { count, response }
  answerWaiting()
}

function receive(request: IncomingMessage, response: ServerResponse, isMeasured: boolean): void {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    response.writeHead(200, { 'Content-Length': 0 }).end()
    if (!isMeasured) return
    arrivals.push([/"id":"(\w+)"[^"]*}}$/.exec(body)?.[1] ?? '', performance.timeOrigin + performance.now()])
    answerWaiting()
  })
}

function answerWaiting(): void {
  if (!waiting || arrivals.length < waiting.count) return
  waiting.response.end()
  waiting = undefined
  arrivals = []
}
