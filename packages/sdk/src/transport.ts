import { ConnectionError, errorOf, InvalidRequestError, NotFoundError, TapedeckError } from './errors.ts'
import { parseExact, stringifyExact } from './exact-json.ts'
import { mayPass, pause, pauseMs } from './retry.ts'

/** `typeof fetch`, as far as it is used: a function of your own may stand in, with a proxy for example. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type TapedeckOptions = {
  /** `svc_live_…`, or `svc_test_…` for the sandbox. Not needed where `headers` say who asks. */
  apiKey?: string
  /** Sent with every request to the API, but not with parts. */
  headers?: Record<string, string>
  /** Address of the service, such as `https://tapedeck.example.com`. */
  baseUrl: string
  /** Used for everything that is sent, parts included. */
  fetch?: Fetch
  /** How often a request is tried again that failed in a way that may pass. Default 4. */
  maxRetries?: number
  /** How long one try of a request may take, and how long a part may make no progress. Default 60,000. */
  timeoutMs?: number
}

export type RequestOptions = {
  signal?: AbortSignal
  /** Instead of one made for this call: a repetition of the call with the same key creates nothing more. */
  idempotencyKey?: string
  maxRetries?: number
  timeoutMs?: number
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type Request = { method: Method; path: string; query?: object; body?: object }

const DEFAULT_RETRIES = 4
const DEFAULT_TIMEOUT_MS = 60_000

/** Sends requests to the API, with the key, and again where that can help. */
export class Transport {
  readonly baseUrl: string
  readonly timeoutMs: number
  /** Given by the user; parts are then sent with it too. */
  readonly ownFetch: Fetch | undefined
  readonly #headers: Record<string, string>
  readonly #maxRetries: number
  readonly #fetch: Fetch

  constructor({ apiKey, headers, baseUrl, fetch: ownFetch, maxRetries, timeoutMs }: TapedeckOptions) {
    if (apiKey === undefined ? !headers : typeof apiKey !== 'string' || !/^[\u0021-\u007e]+$/.test(apiKey))
      throw wrongOption('apiKey', 'apiKey must be a key such as svc_live_…, without spaces')
    this.#headers = { ...headers, ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }) }
    this.baseUrl = readBaseUrl(baseUrl)
    this.#maxRetries = readCount('maxRetries', maxRetries ?? DEFAULT_RETRIES, 0)
    this.timeoutMs = readCount('timeoutMs', timeoutMs ?? DEFAULT_TIMEOUT_MS, 1)
    this.ownFetch = ownFetch
    this.#fetch = ownFetch ?? ((url, init) => fetch(url, init))
  }

  /** The answer as an object. POSTs carry an idempotency key, so that a repetition creates nothing more. */
  async send<T>(request: Request, options: RequestOptions = {}): Promise<T> {
    const text = await this.#again(request, options, (attempt) => this.#read(attempt))
    return text as T
  }

  /** A DELETE whose answer was lost finds nothing when it is repeated: then it has been done. */
  async delete<T>(path: string, done: T, options: RequestOptions = {}): Promise<T> {
    let tries = 0
    try {
      return await this.#again({ method: 'DELETE', path }, options, (attempt) => {
        tries++
        return this.#read(attempt) as Promise<T>
      })
    } catch (error) {
      if (error instanceof NotFoundError && tries > 1) return done
      throw error
    }
  }

  /** The answer before its body: for streams. Only until it arrives the time is limited. */
  open(request: Request, options: RequestOptions = {}): Promise<Response> {
    return this.#again(request, options, async (attempt) => {
      const response = await attempt.exchange()
      if (!response.ok) throw errorOf(await refusalIn(response), this.baseUrl)
      return response
    })
  }

  async #again<T>(
    request: Request,
    options: RequestOptions,
    use: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const maxRetries = options.maxRetries ?? this.#maxRetries
    const init = this.#init(request, options)
    for (let failures = 0; ; failures++) {
      const deadline = startDeadline(options.timeoutMs ?? this.timeoutMs, options.signal)
      try {
        const url = `${this.baseUrl}${request.path}${queryOf(request.query)}`
        const exchange = () => this.#fetch(url, { ...init, signal: deadline.signal })
        return await use({ exchange })
      } catch (thrown) {
        options.signal?.throwIfAborted()
        const error = deadline.passed() ? this.#tooSlow(options) : this.#explain(thrown)
        if (failures >= maxRetries || !mayPass(error)) throw error
        await pause(pauseMs(failures, error), options.signal)
      } finally {
        deadline.end()
      }
    }
  }

  #init({ method, body }: Request, { idempotencyKey }: RequestOptions): RequestInit {
    const headers = { ...this.#headers }
    if (method === 'POST') headers['Idempotency-Key'] = idempotencyKey ?? newIdempotencyKey()
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    // A redirect would turn a POST into a GET, or carry the key to somebody else.
    const init: RequestInit = { method, headers, redirect: 'manual' }
    return body === undefined ? init : { ...init, body: stringifyExact(body) }
  }

  async #read({ exchange }: Attempt): Promise<unknown> {
    const response = await exchange()
    const text = await response.text()
    if (!response.ok) throw errorOf(refusalOf(response, text), this.baseUrl)
    try {
      return parseExact(text)
    } catch (cause) {
      const isJson = /json/.test(response.headers.get('content-type') ?? '')
      throw isJson
        ? new ConnectionError('unreachable', `the answer of ${this.baseUrl} was cut off`, { cause })
        : new ConnectionError(
            'response_invalid',
            `${this.baseUrl} does not answer as Tapedeck does; check the address`,
            { cause },
          )
    }
  }

  #tooSlow({ timeoutMs = this.timeoutMs }: RequestOptions): ConnectionError {
    return new ConnectionError('timeout', `${this.baseUrl} did not answer within ${timeoutMs / 1000} s`)
  }

  /** What `fetch` throws says little; what is behind it says more. */
  #explain(thrown: unknown): unknown {
    return thrown instanceof TapedeckError ? thrown : connectionError(this.baseUrl, thrown)
  }
}

type Attempt = { exchange: () => Promise<Response> }

/** An error below HTTP, in one line. */
export function connectionError(where: string, thrown: unknown): ConnectionError {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown
  const code = cause instanceof Error ? String(Reflect.get(cause, 'code') ?? '') : ''
  const reason = code !== '' ? code : cause instanceof Error ? cause.message : String(cause)
  if (/CERT|SELF_SIGNED|ALTNAME|VERIFY/.test(code))
    return new ConnectionError(
      'certificate_invalid',
      `the certificate of ${where} is not trusted: ${reason}`,
      {
        cause: thrown,
      },
    )
  return new ConnectionError('unreachable', `cannot reach ${where}: ${reason}`, { cause: thrown })
}

export async function refusalIn(response: Response) {
  return refusalOf(response, await response.text().catch(() => ''))
}

function refusalOf(response: Response, body: string) {
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    requestId: response.headers.get('request-id'),
    body,
  }
}

function startDeadline(ms: number, outer: AbortSignal | undefined) {
  const controller = new AbortController()
  let passed = false
  const timer = setTimeout(() => {
    passed = true
    controller.abort()
  }, ms)
  const onAbort = () => controller.abort(outer?.reason)
  if (outer?.aborted) onAbort()
  outer?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    passed: () => passed,
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onAbort)
    },
  }
}

/** `{created: {gte: date}}` → `?created[gte]=…` */
function queryOf(query: object | undefined): string {
  const pairs: string[] = []
  const add = (name: string, value: unknown): void => {
    if (value === undefined || value === null) return
    if (value instanceof Date) return add(name, value.toISOString())
    if (Array.isArray(value)) return add(name, value.join(','))
    if (typeof value === 'object') {
      for (const [inner, field] of Object.entries(value)) add(`${name}[${inner}]`, field)
      return
    }
    pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
  }
  for (const [name, value] of Object.entries(query ?? {})) add(name, value)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Not `randomUUID`: pages without https have none. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function readBaseUrl(baseUrl: string): string {
  let url: URL
  try {
    url = new URL(baseUrl)
  } catch {
    throw wrongOption(
      'baseUrl',
      `baseUrl must be an address such as https://tapedeck.example.com; found ${baseUrl}`,
    )
  }
  if (!/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '')
    throw wrongOption('baseUrl', `baseUrl must be a plain http or https address; found ${baseUrl}`)
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/v1$/, '')
}

function readCount(name: string, value: number, least: number): number {
  if (!Number.isInteger(value) || value < least)
    throw wrongOption(name, `${name} must be an integer of at least ${least}; found ${value}`)
  return value
}

export function wrongOption(param: string, message: string): InvalidRequestError {
  return new InvalidRequestError(message, { type: 'invalid_request', code: 'parameter_invalid', param })
}
