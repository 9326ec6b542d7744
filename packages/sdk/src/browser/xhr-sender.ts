import { ConnectionError } from '../errors.ts'
import type { PutAnswer, PutRequest, Sender } from '../platform.ts'
import { assemble } from '../upload/fetch-sender.ts'
import { watchSilence } from '../upload/silence.ts'

// XMLHttpRequest and not `fetch`: it tells how much of a part is on its way, and so whether the link is alive.

type Xhr = {
  upload: { addEventListener(type: 'progress', take: (event: { loaded: number }) => void): void }
  status: number
  responseText: string
  open(method: 'PUT', url: string): void
  setRequestHeader(name: string, value: string): void
  getResponseHeader(name: string): string | null
  addEventListener(type: 'load' | 'error' | 'abort', take: () => void): void
  send(body: Blob): void
  abort(): void
}

declare const XMLHttpRequest: new () => Xhr

export function openXhrSender(): Sender {
  return {
    async put(request) {
      const { source, offset, length } = request
      return put(request, source.blob?.(offset, length) ?? (await assemble(source, offset, length)))
    },
    close() {},
  }
}

function put({ url, headers, signal, silenceMs, onSent }: PutRequest, body: Blob): Promise<PutAnswer> {
  return new Promise<PutAnswer>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const { origin } = new URL(url)
    const xhr = new XMLHttpRequest()
    const fail = (error: unknown) => {
      end()
      reject(error)
      xhr.abort()
    }
    const onAbort = () => fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const silence = watchSilence(silenceMs, () =>
      fail(new ConnectionError('timeout', `${origin} took nothing for ${silenceMs / 1000} s`)),
    )
    const end = () => {
      silence.end()
      signal.removeEventListener('abort', onAbort)
    }
    let sent = 0
    xhr.upload.addEventListener('progress', ({ loaded }) => {
      silence.moved()
      onSent(loaded - sent)
      sent = loaded
    })
    // Browsers do not tell why: no network, a refused connection and a forbidden origin look alike.
    xhr.addEventListener('error', () => fail(new ConnectionError('unreachable', `cannot reach ${origin}`)))
    xhr.addEventListener('load', () => {
      end()
      resolve({
        status: xhr.status,
        etag: xhr.getResponseHeader('etag'),
        retryAfter: xhr.getResponseHeader('retry-after'),
        requestId: xhr.getResponseHeader('request-id'),
        body: xhr.responseText,
      })
    })
    xhr.open('PUT', url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.send(body)
  })
}
