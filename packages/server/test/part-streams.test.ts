import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { setPaused } from '../src/operate/gate.ts'
import {
  call,
  checksum,
  complete,
  createSession,
  partsOf,
  putPart,
  recording,
  sha256,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { testClock } from './support/clock.ts'
import { incomingFiles, partFiles } from './support/disk.ts'
import { holding, untilBlocked } from './support/hold.ts'
import { chunk, head, openRaw } from './support/raw.ts'
import { assertNothingKept } from './support/received.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

// Parts as bytes on a connection: chunked, asked for, cut off, late.

const clock = testClock()
let service: Service
before(async () => {
  service = await startService({ clock })
  await setPaused(service.database.db, true)
})
after(() => service.close())

test('a chunked part without Content-Length is taken', async () => {
  const bytes = recording(1)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', await onlyUrl(bytes), { 'Transfer-Encoding': 'chunked', ...checksum(bytes) }))
  for (let at = 0; at < bytes.length; at += 300) await raw.send(chunk(bytes.subarray(at, at + 300)))
  await raw.send(chunk(new Uint8Array()))
  const answer = await raw.answer()
  raw.hangUp()
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('etag'), `"${sha256(bytes).toString('hex')}"`)
})

for (const length of [0, 999, 1001]) {
  test(`a chunked part of ${length} bytes where 1000 belong is refused and nothing is kept`, async () => {
    const session = await createSession(service, recording(1))
    const bytes = new Uint8Array(length)
    const raw = await openRaw(service.url)
    await raw.send(head('PUT', urlOf(session), { 'Transfer-Encoding': 'chunked', ...checksum(bytes) }))
    if (length > 0) await raw.send(chunk(bytes))
    await raw.send(chunk(new Uint8Array()))
    const answer = await raw.answer()
    raw.hangUp()
    assertRefused(answer, 400, 'part_size_mismatch')
    await assertNothingKept(service, session.id)
  })
}

test('a chunked part that never ends is refused as soon as it is too long', async () => {
  const session = await createSession(service, recording(1))
  const raw = await openRaw(service.url)
  await raw.send(
    head('PUT', urlOf(session), { 'Transfer-Encoding': 'chunked', ...checksum(new Uint8Array()) }),
  )
  await raw.send(chunk(new Uint8Array(1001)))
  const answer = await raw.answer()
  raw.hangUp()
  assertRefused(answer, 400, 'part_size_mismatch')
  await assertNothingKept(service, session.id)
})

test('a part with Expect: 100-continue is asked for once its head has passed', async () => {
  const bytes = recording(1)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', await onlyUrl(bytes), expecting(bytes)))
  assert.equal((await raw.answer()).status, 100)
  await raw.send(bytes)
  const answer = await raw.answer()
  raw.hangUp()
  assert.equal(answer.status, 200)
})

for (const [what, request] of Object.entries({
  'a wrong signature': {
    change: (url: string) => url.slice(0, -1),
    headers: expecting(recording(1)),
    status: 403,
    code: 'signature_invalid',
  },
  'a missing checksum': {
    change: (url: string) => url,
    headers: { Expect: '100-continue', 'Content-Length': 1000 },
    status: 400,
    code: 'checksum_required',
  },
  'a wrong Content-Length': {
    change: (url: string) => url,
    headers: { ...expecting(recording(1)), 'Content-Length': 1001 },
    status: 400,
    code: 'part_size_mismatch',
  },
})) {
  test(`with Expect: 100-continue, ${what} is refused before a byte is asked for`, async () => {
    const raw = await openRaw(service.url)
    await raw.send(head('PUT', request.change(await onlyUrl(recording(1))), request.headers))
    const answer = await raw.answer()
    raw.hangUp()
    assertRefused(answer, request.status, request.code)
  })
}

test('with Expect: 100-continue, a completed session refuses before a byte is asked for', async () => {
  const bytes = recording(1)
  const { session, parts } = await uploadAll(service, bytes)
  await complete(service, session.id, parts)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', urlOf(session), expecting(bytes)))
  const answer = await raw.answer()
  raw.hangUp()
  assertRefused(answer, 409, 'upload_closed')
})

test('a client that sends all of a refused part without waiting can read why', async () => {
  const bytes = partsOf(recording(2))[0] ?? recording(1)
  const session = await createSession(service, recording(2))
  const answer = await putPart(`${urlOf(session)}A`, bytes)
  assertRefused(answer, 403, 'signature_invalid')
})

test('a client that hangs up in the middle leaves nothing behind', async () => {
  const file = recording(2, 2)
  const bytes = partsOf(file)[0] ?? file
  const session = await createSession(service, file)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', urlOf(session), { 'Content-Length': bytes.length, ...checksum(bytes) }))
  await raw.send(bytes.subarray(0, bytes.length / 2))
  await until('the part is on its way in', async () => (await incomingFiles(service.dataDir)).length > 0)
  raw.hangUp()
  await until('nothing is on its way in', async () => (await incomingFiles(service.dataDir)).length === 0)
  await assertNothingKept(service, session.id)
})

test('a client that hangs up before its part was begun leaves nothing behind', async () => {
  const bytes = recording(1, 3)
  const session = await createSession(service, bytes)
  await holding(service.database.db, sql`lock table sessions in access exclusive mode`, async () => {
    const raw = await openRaw(service.url)
    await raw.send(head('PUT', urlOf(session), { 'Content-Length': bytes.length, ...checksum(bytes) }))
    await raw.send(bytes.subarray(0, 10))
    await untilBlocked(service.database.db, 'from "sessions"')
    raw.hangUp()
    await raw.closed
    // Two round trips later the service has heard of it.
    await call(service.url, 'GET', '/healthz')
    await call(service.url, 'GET', '/healthz')
  })
  await until('the service is done with the upload', async () => (await uploadsInFlight()) === 0)
  await assertNothingKept(service, session.id)
})

test('a client that falls silent is cut off and leaves nothing behind', async () => {
  const impatient = await startService({ uploadIdleMs: 200 })
  try {
    const bytes = recording(1)
    const session = await createSession(impatient, bytes)
    const raw = await openRaw(impatient.url)
    await raw.send(head('PUT', urlOf(session), { 'Content-Length': bytes.length, ...checksum(bytes) }))
    await raw.send(bytes.subarray(0, 500))
    await raw.closed
    await assertNothingKept(impatient, session.id)
  } finally {
    await impatient.close()
  }
})

test('a part whose client hung up can be sent again', async () => {
  const bytes = recording(1, 4)
  const session = await createSession(service, bytes)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', urlOf(session), expecting(bytes)))
  assert.equal((await raw.answer()).status, 100)
  await raw.send(bytes.subarray(0, 10))
  raw.hangUp()
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
})

test('a URL that expires while its part is on its way still counts', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', urlOf(session), expecting(bytes)))
  // The service asks for the body: it has judged the head.
  assert.equal((await raw.answer()).status, 100)
  clock.advance(48 * 3600_000)
  await raw.send(bytes)
  const answer = await raw.answer()
  raw.hangUp()
  assert.equal(answer.status, 200)
})

test('a part that arrives after its session was completed is refused, and its bytes are removed', async () => {
  const bytes = recording(1, 5)
  const { session, parts } = await uploadAll(service, bytes)
  const late = recording(1, 6)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', urlOf(session), expecting(late)))
  assert.equal((await raw.answer()).status, 100)
  await complete(service, session.id, parts)
  await raw.send(late)
  const answer = await raw.answer()
  raw.hangUp()
  assertRefused(answer, 409, 'upload_closed')
  await until('the late bytes are removed', async () => {
    const files = await partFiles(service.dataDir, session.id, 1)
    return files.length === 1 && files[0]?.includes(sha256(bytes).toString('hex'))
  })
})

async function onlyUrl(bytes: Uint8Array): Promise<string> {
  return urlOf(await createSession(service, bytes))
}

function expecting(bytes: Uint8Array): Record<string, string | number> {
  return { Expect: '100-continue', 'Content-Length': bytes.length, ...checksum(bytes) }
}

async function uploadsInFlight(): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text()
  return Number(/^tapedeck_uploads_in_flight (\d+)$/m.exec(text)?.[1])
}
