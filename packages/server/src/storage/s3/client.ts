import { createHash, hash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { systemCode } from '../../errors.ts'
import { StorageUnavailable } from '../storage.ts'
import { collect, type S3Response } from './answer.ts'
import { openCredentials } from './credentials.ts'
import { type Credentials, encodePath, queryString, sign } from './sign.ts'
import { textOf } from './xml.ts'

// Requests to the store whose bodies are small and kept, so that each can be sent again: a store that is busy, slow or
// gone is asked four times within some seconds, then the caller is told that the storage is not available.

export type S3Settings = {
  bucket: string
  /** May have a path. */
  endpoint: string
  region: string
  /** The bucket in the path rather than in the host name. */
  forcePathStyle: boolean
  /** Undefined: the machine's own. */
  credentials: Credentials | undefined
  /** It compares parts with their checksum, which is signed: naming the body in the signature too would make it hash twice. */
  comparesChecksums?: boolean
}

export type S3Request = {
  method: string
  /** Of an object; without one the bucket is meant. */
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
  /** Said of the body where it is not what its bytes hash to, to see whether the store notices. */
  bodySha256?: string
}

export type SignedRequest = { url: URL; path: string; headers: Record<string, string> }

/** The store understood and refused. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(what: string, { status, body }: S3Response) {
    const code = textOf(body.toString(), 'Code') ?? ''
    super(`the store refused ${what}: ${status} ${code}`)
    this.status = status
    this.code = code
  }
}

export type S3Client = {
  /** An answer of 2xx; other answers are errors. */
  send(request: S3Request): Promise<S3Response>
  /** One attempt, whatever is answered. */
  try(request: S3Request): Promise<S3Response>
  /** For whoever sends the body itself. */
  signed(request: Omit<S3Request, 'body'> & { bodySha256: string }): Promise<SignedRequest>
  close(): void
}

const ATTEMPTS = 4
const FIRST_PAUSE_MS = 100
/** Silence of the store in one attempt, and all of one attempt. */
const IDLE_MS = 10_000
const ATTEMPT_MS = 60_000
/** A free connection is not used after this: a store that closes it at that moment would have to be asked again. */
const FREE_MS = 4_000

export async function openClient(settings: S3Settings): Promise<S3Client> {
  const credentials = await openCredentials(settings.credentials)
  const base = baseOf(settings)
  const { request: open, Agent } = base.protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, timeout: FREE_MS, maxFreeSockets: 16 })

  async function signed({
    method,
    key,
    query = {},
    headers = {},
    bodySha256,
  }: S3Request): Promise<SignedRequest> {
    const object = key === undefined ? '' : `/${encodePath(key)}`
    const path = `${base.pathname.replace(/\/$/, '')}${object}` || '/'
    const unsigned = { method, host: base.host, path, query, headers, bodySha256: bodySha256 ?? '' }
    const signer = { region: settings.region, credentials: await credentials(), now: new Date() }
    const search = queryString(query)
    return { url: base, path: search ? `${path}?${search}` : path, headers: sign(unsigned, signer) }
  }

  async function attempt({ body, ...request }: S3Request): Promise<S3Response> {
    const bodySha256 = request.bodySha256 ?? hash('sha256', body ?? '')
    const { path, headers } = await signed({ ...request, bodySha256 })
    return new Promise((resolve, reject) => {
      const outgoing = open({
        protocol: base.protocol,
        hostname: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port,
        method: request.method,
        path,
        headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
        agent,
        timeout: IDLE_MS,
        signal: AbortSignal.timeout(ATTEMPT_MS),
      })
      outgoing
        .on('timeout', () =>
          outgoing.destroy(new StorageUnavailable(`the store is silent for ${IDLE_MS} ms`)),
        )
        .on('error', reject)
        .on('response', (response) => collect(response, request.method).then(resolve, reject))
        .end(body)
    })
  }

  return {
    try: attempt,
    signed,
    async send(request) {
      const what = `${request.method} ${request.key ?? 'of the bucket'}`
      for (let tries = 1; ; tries++) {
        const outcome = await attempt(request).catch((error: unknown) => {
          if (tries < ATTEMPTS) return undefined
          throw new StorageUnavailable(`the store cannot be reached (${reasonOf(error)})`, { cause: error })
        })
        if (outcome && outcome.status < 300) return outcome
        if (outcome && !isPassing(outcome.status)) throw new Refused(what, outcome)
        if (outcome && tries === ATTEMPTS)
          throw new StorageUnavailable(`the store answers ${outcome.status} to ${what}`)
        await delay(FIRST_PAUSE_MS * 4 ** (tries - 1) * (0.5 + Math.random()))
      }
    },
    close: () => agent.destroy(),
  }
}

/** Not the request's fault: the same may work in a moment. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

/** The MD5 of a body as the stores want to have it: the one checksum that all of them compare. */
export function contentMd5(body: Buffer): string {
  return createHash('md5').update(body).digest('base64')
}

/** What went wrong on the way, without addresses. */
export function reasonOf(error: unknown): string {
  return systemCode(error) ?? (error instanceof Error ? error.message : String(error))
}

function baseOf({ endpoint, bucket, forcePathStyle }: S3Settings): URL {
  const url = new URL(endpoint)
  if (forcePathStyle) url.pathname = `${url.pathname.replace(/\/$/, '')}/${bucket}`
  else url.hostname = `${bucket}.${url.hostname}`
  return url
}
