import assert from 'node:assert/strict'
import type { CreatedSession, ErrorBody, Session } from '@tapedeck/contract'
import { type Answer, call, complete, SMALLEST_PART } from './client.ts'
import type { Service } from './service.ts'
import {
  type Bytes,
  type Expected,
  expectComplete,
  expectPut,
  expectUpload,
  type ModelFile,
  type ModelSession,
  type Naming,
  nameParts,
  type Sending,
  type Variant,
} from './session-model.ts'

// Takes steps on the service and on the model of a session together, and holds one to the other.

/** `part` is any number; it stands for one of the parts that there are. */
export type Put = { part: number; sending: Sending }

export async function create(service: Service, file: ModelFile, declares: Variant): Promise<ModelSession> {
  const { status, body } = await call<CreatedSession>(service.url, 'POST', '/v1/sessions', {
    key: service.key,
    body: {
      site: 'lab',
      filename: 'noise.bin',
      bytes: file.bytes,
      sha256: declares === 'right' ? file.sha256 : 'f'.repeat(64),
      part_size: SMALLEST_PART,
    },
  })
  assert.equal(status, 201)
  const partPaths = body.upload.parts.map(({ url }) => url.slice(service.url.length))
  return { id: body.id, partPaths, file, declares, state: 'uploading', received: new Map() }
}

/** Of the same part sent several times at once any may be the last: then the service says which it was. */
export async function putAtOnce(service: Service, session: ModelSession, puts: Put[]): Promise<void> {
  const sent = new Map<number, Set<Variant>>()
  await Promise.all(
    puts.map(async ({ part, sending }) => {
      const number = (part % session.file.right.length) + 1
      const expected = expectPut(session, sending)
      const answer = await put(service, session, number, sending)
      assertAnswer(answer, expected)
      if (expected.status !== 200) return
      const variant = sending === 'right' ? 'right' : 'other'
      assert.equal(answer.headers.get('etag'), `"${session.file[variant][number - 1]?.hex}"`)
      sent.set(number, (sent.get(number) ?? new Set()).add(variant))
    }),
  )
  for (const [number, variants] of sent) {
    session.received.set(number, await lastOf(service, session, number, variants))
  }
}

export function missingOf({ file, received }: ModelSession): Put[] {
  return file.right.flatMap((_, part) =>
    received.has(part + 1) ? [] : [{ part, sending: 'right' as const }],
  )
}

/** Of several at once one is answered as the model says; the others may find it under way or done. */
export async function completeAtOnce(
  service: Service,
  session: ModelSession,
  naming: Naming,
  times: number,
): Promise<void> {
  const expected = expectComplete(session, naming)
  const parts = nameParts(session, naming)
  const answers = await Promise.all(
    Array.from({ length: times }, () => complete(service, session.id, parts) as Promise<Answer>),
  )
  const isRival = ({ body }: Answer) => {
    const code = errorOf(body)?.code
    if (expected.code === 'checksum_mismatch') return code === 'completion_in_progress'
    return expected.status === 200 && (code === 'completion_in_progress' || code === 'already_completed')
  }
  const decided = answers.filter((answer) => !isRival(answer))
  assert.ok(decided.length > 0, 'each of the rivals gave way to another')
  for (const answer of decided) assertAnswer(answer, expected)
  if (expected.status !== 200) return
  assert.equal(decided.length, 1, 'a session is completed once')
  session.state = 'completed'
}

export async function remove(service: Service, session: ModelSession): Promise<void> {
  const { id, state } = session
  const { status, body } = await call(service.url, 'DELETE', `/v1/sessions/${id}`, { key: service.key })
  if (state === 'deleted') return assert.equal(status, 404)
  assert.deepEqual(body, { id, object: 'session', deleted: true })
  session.state = 'deleted'
}

/** What the service tells of a session is what the model knows. */
export async function compare(service: Service, session: ModelSession): Promise<void> {
  const { status, body } = await retrieve(service, session)
  if (session.state === 'deleted') return assert.equal(status, 404)
  assert.equal(status, 200)
  if (session.state === 'completed') {
    assert.ok(['processing', 'processed', 'failed'].includes(body.status), `completed, and ${body.status}`)
    return assert.equal(body.upload, undefined)
  }
  assert.equal(body.status, 'uploading')
  const told = {
    parts: body.upload?.parts.map(({ number }) => number),
    received: body.upload?.received.map(({ url, ...part }) => part),
  }
  assert.deepEqual(told, expectUpload(session))
}

async function lastOf(
  service: Service,
  session: ModelSession,
  number: number,
  variants: Set<Variant>,
): Promise<Variant> {
  const [only = 'right', another] = variants
  if (!another) return only
  const { body } = await retrieve(service, session)
  const stored = body.upload?.received.find((part) => part.number === number)?.sha256
  return stored === session.file.right[number - 1]?.hex ? 'right' : 'other'
}

function retrieve(service: Service, { id }: ModelSession): Promise<Answer<Session>> {
  return call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })
}

async function put(
  service: Service,
  session: ModelSession,
  number: number,
  sending: Sending,
): Promise<Answer> {
  const { bytes, checksum } = choose(session.file, number, sending)
  const announced = !sending.endsWith('unannounced')
  const response = await fetch(`${service.url}${session.partPaths[number - 1]}`, {
    method: 'PUT',
    headers: checksum === undefined ? {} : { 'x-amz-checksum-sha256': checksum },
    // A stream has no Content-Length, so its size is known only at its end.
    body: announced ? bytes : new Response(bytes).body,
    duplex: 'half',
  })
  const text = await response.text()
  const { status, headers } = response
  return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
}

function choose(file: ModelFile, number: number, sending: Sending) {
  const from = (variants: Bytes[]) => variants[number - 1] ?? assert.fail(`there is no part ${number}`)
  const right = from(file.right)
  switch (sending) {
    case 'right':
      return { bytes: right.bytes, checksum: right.base64 }
    case 'other':
      return { bytes: from(file.other).bytes, checksum: from(file.other).base64 }
    case 'corrupted':
      return { bytes: from(file.other).bytes, checksum: right.base64 }
    case 'one byte short':
    case 'one byte short, unannounced':
      return { bytes: from(file.short).bytes, checksum: from(file.short).base64 }
    case 'one byte long':
    case 'one byte long, unannounced':
      return { bytes: from(file.long).bytes, checksum: from(file.long).base64 }
    case 'without checksum':
      return { bytes: right.bytes, checksum: undefined }
    default:
      throw new Error(sending satisfies never)
  }
}

function assertAnswer({ status, body }: Answer, expected: Expected): void {
  const error = errorOf(body)
  assert.deepEqual({ status, ...(error && { code: error.code, param: error.param }) }, expected)
}

function errorOf(body: unknown): ErrorBody['error'] | undefined {
  return typeof body === 'object' && body && 'error' in body ? (body as ErrorBody).error : undefined
}
