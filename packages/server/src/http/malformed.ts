import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorStatus } from '@tapedeck/contract'
import { ApiError, systemCode } from '../errors.ts'
import { newRequestId } from '../ids.ts'
import { addressBucket, type RateLimit } from './rate-limit.ts'
import { errorBody, JSON_TYPE } from './respond.ts'

type Exchange = { request: IncomingMessage; response: ServerResponse }

/** The last request of each connection. */
const exchanges = new WeakMap<Socket, Exchange>()

export function noteExchange(request: IncomingMessage, response: ServerResponse): void {
  exchanges.set(request.socket, { request, response })
}

/** Answers what is not HTTP, which never becomes a request: with the same body and headers as any other error. */
export async function answerMalformed(error: Error, socket: Socket, rateLimit: RateLimit): Promise<void> {
  if (systemCode(error) === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const last = exchanges.get(socket)
  // A good request came before the bad bytes: its answer comes first.
  if (last?.request.complete && !last.response.writableFinished) await once(last.response, 'close')
  if (!socket.writable) return
  const id = newRequestId()
  const refusal = new ApiError('request_malformed', reasonOf(error))
  const body = JSON.stringify(errorBody(refusal, id))
  const headers = {
    'Content-Type': JSON_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    'Request-Id': id,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Request-Id',
    ...(await rateLimit.headers(addressBucket(socket.remoteAddress ?? ''))),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${errorStatus(refusal.code)} Bad Request`, ...lines, '', body].join('\r\n'))
}

function reasonOf(error: Error): string {
  switch (systemCode(error)) {
    case 'HPE_HEADER_OVERFLOW':
      return 'the head of the request is larger than 16 KiB'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'the head of the request did not arrive in time'
    default:
      return `the request is not well-formed HTTP: ${error.message.slice(0, 200)}`
  }
}
