import {
  type AttemptError,
  SIGNATURE_HEADER,
  WEBHOOK_RESPONSE_BYTES,
  WEBHOOK_TIMEOUT_MS,
} from '@tapedeck/contract'
import type { Agent, Dispatcher, request } from 'undici'
import { systemCode } from '../errors.ts'
import type { Targets } from './target.ts'

// One POST to a receiver: connected only to an address that was checked, no redirects, no proxy, TLS verified,
// 10 seconds in all, and no more of the answer read than is kept.

export type Result = {
  status: number | null
  error: AttemptError | null
  response: string
  retryAfter: string | undefined
  durationMs: number
}

export type Sender = {
  post(url: string, body: string, signature: string): Promise<Result>
  close(): Promise<void>
}

type Settings = { targets: Targets; timeoutMs?: number }

export function openSender({ targets, timeoutMs = WEBHOOK_TIMEOUT_MS }: Settings): Sender {
  let client: Promise<Client> | undefined

  return {
    async post(url, body, signature) {
      client ??= openClient(targets, timeoutMs)
      const opened = await client
      const started = performance.now()
      const patience = new AbortController()
      const timer = setTimeout(() => patience.abort(), timeoutMs)
      const headers = { [SIGNATURE_HEADER]: signature }
      const outcome = await attempt(opened, targets, url, body, headers, patience.signal)
      clearTimeout(timer)
      return { ...outcome, durationMs: Math.round(performance.now() - started) }
    },
    async close() {
      await (await client)?.agent.destroy()
    },
  }
}

type Client = { agent: Agent; request: typeof request }

/** With the first event: loading all that the library can do takes a tenth of a second that a start need not take. */
async function openClient(targets: Targets, timeoutMs: number): Promise<Client> {
  const { Agent, request } = await import('undici')
  const agent = new Agent({
    // As many connections to a host as it takes: the lanes limit them for each endpoint, and of two endpoints at one
    // host none waits for a connection that the other's silence holds.
    connections: null,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: timeoutMs,
      rejectUnauthorized: true,
      // Called for every connection to a name; what it returns is what is connected to.
      lookup(host, options, done) {
        targets.resolve(host).then(
          (addresses) => {
            const [first] = addresses
            if (options.all) done(null, addresses)
            else if (first) done(null, first.address, first.family)
            else done(new Error('no address'), '', 4)
          },
          (error) => done(error, '', 4),
        )
      },
    },
  })
  return { agent, request }
}

async function attempt(
  { agent, request }: Client,
  targets: Targets,
  url: string,
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Omit<Result, 'durationMs'>> {
  try {
    targets.checkLiteral(url)
    const answer = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'Tapedeck-Webhooks/1', ...headers },
      body,
      signal,
    })
    const { statusCode: status } = answer
    const retryAfter = answer.headers['retry-after']
    return {
      status,
      error: status >= 200 && status < 300 ? null : status >= 300 && status < 400 ? 'redirect' : 'status',
      response: await readStart(answer.body),
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
    }
  } catch (error) {
    return { status: null, error: classify(error, signal), response: '', retryAfter: undefined }
  }
}

/** The status decides; an answer that drips, breaks or never ends only loses its text. */
async function readStart(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      size += chunk.length
      if (size > WEBHOOK_RESPONSE_BYTES) break
    }
  } catch {
    // Cut off or out of time: what came is kept.
  }
  const start = Buffer.concat(chunks).subarray(0, WEBHOOK_RESPONSE_BYTES)
  // PostgreSQL keeps no NUL in a text.
  return start.toString('utf8').replaceAll('\0', '\uFFFD')
}

const TLS = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO$|HOSTNAME_MISMATCH)/

const NOT_HTTP = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$|UND_ERR_RES_CONTENT_LENGTH_MISMATCH$)/

function classify(error: unknown, signal: AbortSignal): AttemptError {
  const code = codeOf(error)
  if (code === 'ADDRESS_BLOCKED') return 'address_blocked'
  if (signal.aborted || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_FAIL') return 'dns'
  if (TLS.test(code)) return 'tls'
  if (NOT_HTTP.test(code) || (error instanceof Error && error.name === 'HTTPParserError'))
    return 'response_invalid'
  return 'connection'
}

/** Several addresses tried at once fail with several errors; the first one speaks for them. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return systemCode(error) ?? (error instanceof Error && error.cause ? codeOf(error.cause) : '')
}
