import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { ConnectionError } from '../errors.ts'
import type { PutAnswer, PutRequest, Sender } from '../platform.ts'
import { connectionError } from '../transport.ts'
import { watchSilence } from '../upload/silence.ts'

// Parts go over plain HTTP requests instead of `fetch`: two buffers of ours for each part, used in turn, where a
// stream of the platform takes hundreds of megabytes and half again the time.

const BUFFER_BYTES = 2 ** 20
const MAX_ANSWER_BYTES = 2 ** 16

export function openHttpSender(): Sender {
  const http = new HttpAgent({ keepAlive: true })
  const https = new HttpsAgent({ keepAlive: true })
  return {
    put: (request) => put(request, (url) => (url.startsWith('https:') ? https : http)),
    close() {
      http.destroy()
      https.destroy()
    },
  }
}

async function put(given: PutRequest, agentFor: (url: string) => HttpAgent): Promise<PutAnswer> {
  const { url, headers, length, signal, silenceMs } = given
  signal.throwIfAborted()
  const start = url.startsWith('https:') ? httpsRequest : httpRequest
  const request = start(url, {
    method: 'PUT',
    agent: agentFor(url),
    headers: { ...headers, 'Content-Length': length },
  })
  const { origin } = new URL(url)
  const silence = watchSilence(silenceMs, () =>
    request.destroy(new ConnectionError('timeout', `${origin} took nothing for ${silenceMs / 1000} s`)),
  )
  const onAbort = () => request.destroy()
  signal.addEventListener('abort', onAbort, { once: true })
  const answered = answerTo(request, origin)
  let unreadable: { error: unknown } | undefined
  const sending = send(request, given, silence.moved).catch((error: unknown) => {
    // A connection that breaks is told by the answer that does not come; a source that breaks only here.
    if (!(error instanceof WriteFailed)) unreadable = { error }
    request.destroy()
  })
  try {
    // A refusal may come before the last byte was sent; then the rest is not wanted.
    return await answered
  } catch (error) {
    signal.throwIfAborted()
    await sending
    throw unreadable ? unreadable.error : error
  } finally {
    silence.end()
    signal.removeEventListener('abort', onAbort)
    if (!request.writableFinished) request.destroy()
    await sending
  }
}

class WriteFailed extends Error {}

async function send(
  request: ClientRequest,
  { source, offset, length, onSent, onAllSent }: PutRequest,
  moved: () => void,
): Promise<void> {
  const size = Math.min(BUFFER_BYTES, length)
  const buffers = [new Uint8Array(size), new Uint8Array(size)]
  const flushed: Promise<void>[] = []
  // What waits for a connection that is never made is not told so; the end of the request is.
  const closed = new Promise<never>((_, reject) => {
    request.once('close', () => reject(new WriteFailed('the request was closed')))
  })
  closed.catch(() => {})
  for (let at = 0, turn = 0; at < length && !request.destroyed; turn = 1 - turn) {
    await Promise.race([flushed[turn], closed])
    const bytes = buffers[turn]?.subarray(0, Math.min(size, length - at)) ?? new Uint8Array()
    await source.readInto(bytes, offset + at)
    at += bytes.length
    flushed[turn] = write(request, bytes, () => {
      moved()
      onSent(bytes.length)
    })
    // Looked at in its turn; until then nobody must take it for forgotten.
    flushed[turn]?.catch(() => {})
  }
  await Promise.race([Promise.all(flushed), closed])
  request.end()
  onAllSent()
}

function write(request: ClientRequest, bytes: Uint8Array, onFlushed: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    request.write(bytes, (error) => {
      if (error) return reject(new WriteFailed(error.message, { cause: error }))
      onFlushed()
      resolve()
    })
  })
}

function answerTo(request: ClientRequest, origin: string): Promise<PutAnswer> {
  return new Promise((resolve, reject) => {
    const lost = (error: Error) =>
      reject(error instanceof ConnectionError ? error : connectionError(origin, error))
    request.on('error', lost)
    request.on('close', () => lost(new Error('the connection was closed')))
    request.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        if (body.length < MAX_ANSWER_BYTES) body += text
      })
      response.on('error', lost)
      response.on('end', () => {
        const header = (name: string) => response.headers[name]?.toString() ?? null
        resolve({
          status: response.statusCode ?? 0,
          etag: header('etag'),
          retryAfter: header('retry-after'),
          requestId: header('request-id'),
          body,
        })
      })
    })
  })
}
