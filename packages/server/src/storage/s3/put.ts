import { once } from 'node:events'
import http, { type ClientRequest } from 'node:http'
import net, { type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { StorageUnavailable } from '../storage.ts'
import { collect, type S3Response } from './answer.ts'
import { reasonOf, type SignedRequest } from './client.ts'

// One object on its way to the store, as fast as the store takes it. The last byte is held back until the bytes are
// known to be right, so that the store cannot have an object before. Nothing is kept here that could be sent again:
// where the way breaks, the client sends its part again.

export type Put = {
  /** Returns when the bytes are out of our hands. */
  write(chunks: Uint8Array[]): Promise<void>
  /** Sends the last byte and returns what the store says. */
  finish(): Promise<S3Response>
  /** The store gets no more of it, and keeps nothing. */
  abort(): void
}

const CONNECT_MS = 5_000
const CONNECT_TRIES = 3
const CONNECT_PAUSE_MS = 200
/** How long the store may take no byte, and how long it may think about the whole. */
const WRITE_MS = 30_000
const ANSWER_MS = 60_000

export async function openPut({ url, path, headers }: SignedRequest, bytes: number): Promise<Put> {
  // A connection of its own: one used before could be closed by the store just when the part begins.
  const socket = await connect(url)
  const outgoing = http.request({
    method: 'PUT',
    path,
    headers: { ...headers, 'content-length': String(bytes), connection: 'close' },
    createConnection: () => socket,
  })
  const answer = answerTo(outgoing)
  const early = answer.then(({ status }): never => {
    throw new StorageUnavailable(`the store answers ${status} before it has all bytes`)
  })
  early.catch(() => {})
  let left = bytes
  let lastByte: Uint8Array = new Uint8Array()

  return {
    async write(chunks) {
      const pieces = chunks.filter((chunk) => chunk.byteLength > 0)
      for (const [index, piece] of pieces.entries()) {
        left -= piece.byteLength
        if (left < 0) throw new Error(`more than the ${bytes} bytes that were announced`)
        if (left > 0) continue
        lastByte = piece.slice(-1)
        pieces[index] = piece.subarray(0, -1)
      }
      await patiently(Promise.race([writeAll(outgoing, pieces), early]), WRITE_MS, 'takes no bytes')
    },
    async finish() {
      if (left > 0) throw new Error(`${left} of ${bytes} bytes are missing`)
      outgoing.end(lastByte)
      return patiently(answer, ANSWER_MS, 'gives no answer')
    },
    abort: () => void outgoing.destroy(),
  }
}

/** Waits for the store, but not for ever. */
async function patiently<T>(waiting: Promise<T>, ms: number, what: string): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new StorageUnavailable(`the store ${what} for ${ms} ms`)), ms)
  try {
    return await Promise.race([waiting, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function connect(url: URL): Promise<Socket> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'https:'
  const port = Number(url.port || (secure ? 443 : 80))
  for (let tries = 1; ; tries++) {
    const socket = secure
      ? tls.connect({ host, port, servername: net.isIP(host) ? '' : host })
      : net.connect({ host, port })
    try {
      await once(socket, secure ? 'secureConnect' : 'connect', { signal: AbortSignal.timeout(CONNECT_MS) })
      return socket.setNoDelay(true)
    } catch (error) {
      socket.on('error', () => {}).destroy()
      if (tries === CONNECT_TRIES)
        throw new StorageUnavailable(`the store cannot be reached (${reasonOf(error)})`, { cause: error })
      await delay(CONNECT_PAUSE_MS * tries)
    }
  }
}

function answerTo(outgoing: ClientRequest): Promise<S3Response> {
  const answer = new Promise<S3Response>((resolve, reject) => {
    outgoing
      .on('error', (error) =>
        reject(
          new StorageUnavailable(`the connection to the store broke (${reasonOf(error)})`, { cause: error }),
        ),
      )
      .on('response', (response) => collect(response, 'PUT').then(resolve, reject))
  })
  // Heard by whoever writes next.
  answer.catch(() => {})
  return answer
}

/** Node calls back when the bytes are with the system; until then their memory is in use. */
function writeAll(outgoing: ClientRequest, pieces: Uint8Array[]): Promise<void> {
  const [last, ...others] = [...pieces].reverse()
  if (!last) return Promise.resolve()
  return new Promise((resolve, reject) => {
    outgoing.cork()
    for (const piece of others.reverse()) outgoing.write(piece)
    outgoing.write(last, (error) =>
      error
        ? reject(new StorageUnavailable(`the connection to the store broke (${reasonOf(error)})`))
        : resolve(),
    )
    outgoing.uncork()
  })
}
