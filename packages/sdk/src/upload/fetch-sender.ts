import { ConnectionError } from '../errors.ts'
import type { Platform, PutAnswer, PutRequest, Sender } from '../platform.ts'
import { connectionError, type Fetch, refusalIn } from '../transport.ts'
import { watchSilence } from './silence.ts'
import type { Source } from './source.ts'

const CHUNK_BYTES = 2 ** 18

/** Sends parts with `fetch`: the one that the user gave. */
export function openFetchSender(fetch: Fetch, { streamsBodies }: Pick<Platform, 'streamsBodies'>): Sender {
  return {
    async put(request) {
      const { source, offset, length } = request
      if (source.blob) return putBlob(fetch, request, source.blob(offset, length))
      if (streamsBodies) return putStream(fetch, request)
      return putBlob(fetch, request, await assemble(source, offset, length))
    },
    close() {},
  }
}

/** Nothing is heard of the bytes of a Blob on their way, so silence cannot be told from a slow link. */
async function putBlob(fetch: Fetch, request: PutRequest, body: Blob): Promise<PutAnswer> {
  const answer = await exchange(fetch, request, { body, signal: request.signal })
  if (answer.status === 200) request.onSent(request.length)
  return answer
}

async function putStream(fetch: Fetch, request: PutRequest): Promise<PutAnswer> {
  const { url, headers, source, offset, length, signal, silenceMs, onSent } = request
  const stop = new AbortController()
  let failure: unknown
  const fail = (error: unknown) => {
    failure ??= error
    stop.abort(error)
  }
  const onAbort = () => fail(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const silence = watchSilence(silenceMs, () =>
    fail(new ConnectionError('timeout', `${new URL(url).origin} took nothing for ${silenceMs / 1000} s`)),
  )
  const body = streamOf(source, offset, length, fail, (bytes) => {
    silence.moved()
    onSent(bytes)
  })
  try {
    const withLength = { ...request, headers: { ...headers, 'Content-Length': String(length) } }
    return await exchange(fetch, withLength, { body, duplex: 'half', signal: stop.signal })
  } catch (error) {
    throw failure ?? error
  } finally {
    silence.end()
    signal.removeEventListener('abort', onAbort)
  }
}

type Init = { body: Blob | ReadableStream; signal: AbortSignal; duplex?: 'half' }

async function exchange(fetch: Fetch, { url, headers }: PutRequest, init: Init): Promise<PutAnswer> {
  try {
    const response = await fetch(url, { method: 'PUT', headers, redirect: 'manual', ...init } as RequestInit)
    return { ...(await refusalIn(response)), etag: response.headers.get('etag') }
  } catch (thrown) {
    init.signal.throwIfAborted()
    throw connectionError(new URL(url).origin, thrown)
  }
}

function streamOf(
  source: Source,
  offset: number,
  length: number,
  onError: (error: unknown) => void,
  onTaken: (bytes: number) => void,
): ReadableStream {
  let at = 0
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const bytes = new Uint8Array(Math.min(CHUNK_BYTES, length - at))
          await source.readInto(bytes, offset + at)
          at += bytes.length
          controller.enqueue(bytes)
          onTaken(bytes.length)
          if (at === length) controller.close()
        } catch (error) {
          onError(error)
          controller.error(error)
        }
      },
    },
    { highWaterMark: 0 },
  )
}

/** A part in memory: all that is left where neither a Blob nor a stream can be had. */
export async function assemble(source: Source, offset: number, length: number): Promise<Blob> {
  const bytes = new Uint8Array(length)
  await source.readInto(bytes, offset)
  return new Blob([bytes])
}
