import { createHash } from 'node:crypto'
import type { CreatedSession, ErrorBody, Session } from '@tapedeck/contract'

// The smallest client that can upload: what a user would write with fetch and the contract alone.

export type Answer<T = unknown> = { status: number; headers: Headers; body: T }

type CallOptions = { key?: string | undefined; body?: unknown; headers?: Record<string, string> }

/** One call of the API; `body` goes as JSON, the answer is parsed. */
export async function call<T = unknown>(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer<T>> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(options.key !== undefined && { Authorization: `Bearer ${options.key}` }),
      ...(options.body !== undefined && { 'Content-Type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? (undefined as T) : (JSON.parse(text) as T),
  }
}

export type ErrorAnswer = Answer<ErrorBody>

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** The header that goes with a part. */
export const checksum = (bytes: Uint8Array): Record<string, string> => ({
  'x-amz-checksum-sha256': sha256(bytes).toString('base64'),
})

/** PUTs one part with its checksum. */
export function putPart(
  partUrl: string,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answer<ErrorBody | undefined>> {
  return putBytes(partUrl, bytes, { ...checksum(bytes), ...headers })
}

/** A PUT with these headers and no others. */
export async function putBytes(
  partUrl: string,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answer<ErrorBody | undefined>> {
  const response = await fetch(partUrl, { method: 'PUT', headers, body: bytes })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

export const SMALLEST_PART = 8_000_000

/** The bytes of a recording of so many smallest parts and a short last one, different for every seed. */
export function recording(parts: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((parts - 1) * SMALLEST_PART + 1000)
  const words = new Uint32Array(bytes.buffer, 0, Math.floor(bytes.length / 4))
  let state = seed * 2654435761 || 1
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[index] = state
  }
  return bytes
}

export function partsOf(bytes: Uint8Array<ArrayBuffer>, partSize = SMALLEST_PART): Uint8Array<ArrayBuffer>[] {
  return Array.from({ length: Math.ceil(bytes.length / partSize) }, (_, index) =>
    bytes.subarray(index * partSize, (index + 1) * partSize),
  )
}

type Where = { url: string; key: string }

export async function createSession(
  where: Where,
  bytes: Uint8Array,
  more: object = {},
): Promise<CreatedSession> {
  const body = {
    site: 'lab',
    filename: 'run.mcap',
    bytes: bytes.length,
    sha256: sha256(bytes).toString('hex'),
    part_size: SMALLEST_PART,
    ...more,
  }
  const answer = await call<CreatedSession>(where.url, 'POST', '/v1/sessions', { key: where.key, body })
  if (answer.status !== 201)
    throw new Error(`create answered ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** The URL of a part of a session just created. */
export function urlOf(session: CreatedSession, number = 1): string {
  const part = session.upload.parts.find((candidate) => candidate.number === number)
  if (!part) throw new Error(`the session has no part ${number}`)
  return part.url
}

/** Creates a session and sends all its parts. */
export async function uploadAll(where: Where, bytes: Uint8Array<ArrayBuffer>, more: object = {}) {
  const session = await createSession(where, bytes, more)
  const parts = partsOf(bytes, session.upload.part_size)
  const named: { number: number; etag: string }[] = []
  for (const { number, url } of session.upload.parts) {
    const answer = await putPart(url, parts[number - 1] ?? new Uint8Array())
    if (answer.status !== 200)
      throw new Error(`part ${number} answered ${answer.status} ${JSON.stringify(answer.body)}`)
    named.push({ number, etag: answer.headers.get('etag') ?? '' })
  }
  return { session, parts: named }
}

export function complete(
  where: Where,
  id: string,
  parts: { number: number; etag: string }[],
  headers = {},
): Promise<Answer<Session>> {
  return call<Session>(where.url, 'POST', `/v1/sessions/${id}/complete`, {
    key: where.key,
    body: { parts },
    headers,
  })
}

/** Asks until the session is in a final state. */
export async function followSession(where: Where, id: string): Promise<Session> {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const { body } = await call<Session>(where.url, 'GET', `/v1/sessions/${id}`, { key: where.key })
    if (body.status === 'processed' || body.status === 'failed') return body
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`session ${id} did not finish`)
}
