import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session } from '@tapedeck/contract'
import { setPaused } from '../src/operate/gate.ts'
import {
  type Answer,
  call,
  complete,
  createSession,
  partsOf,
  putPart,
  recording,
  sha256,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { assertRefused } from './support/refusal.ts'
import { seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService()
  // What happens after a completion is told elsewhere.
  await setPaused(service.database.db, true)
})
after(() => service.close())

test('a file of one part is verified like any other', async () => {
  const good = await uploadAll(service, recording(1))
  assert.equal((await complete(service, good.session.id, good.parts)).status, 200)
  const wrong = await uploadAll(service, recording(1), { sha256: 'a'.repeat(64) })
  assertRefused(await complete(service, wrong.session.id, wrong.parts), 409, 'checksum_mismatch')
})

test('ETags are taken with and without quotes', async () => {
  const { session, parts } = await uploadAll(service, recording(2))
  const [first, second] = parts
  const bare = { number: 2, etag: (second?.etag ?? '').replaceAll('"', '') }
  assert.match(first?.etag ?? '', /^"[0-9a-f]{64}"$/)
  assert.equal((await complete(service, session.id, [first ?? bare, bare])).status, 200)
})

test('after a checksum mismatch the session is uploading and every part is kept', async () => {
  const { session, parts } = await uploadAll(service, recording(2), { sha256: 'a'.repeat(64) })
  assertRefused(await complete(service, session.id, parts), 409, 'checksum_mismatch')
  const { status, upload } = await retrieve(session.id)
  assert.equal(status, 'uploading')
  assert.deepEqual(upload?.parts, [])
  assert.deepEqual(
    upload?.received.map(({ number, etag }) => ({ number, etag })),
    parts,
  )
})

test('after a checksum mismatch the wrong part is sent again and the file completes', async () => {
  const bytes = recording(2, 2)
  const [first = bytes, second = bytes] = partsOf(bytes)
  const session = await createSession(service, bytes)
  await putPart(urlOf(session, 1), first)
  await putPart(urlOf(session, 2), recording(1, 3))
  assertRefused(await completeReceived(session.id), 409, 'checksum_mismatch')
  await putPart(urlOf(session, 2), second)
  assert.equal((await completeReceived(session.id)).status, 200)
})

test('a part sent again with other bytes counts, whatever was hashed before', async () => {
  const { session } = await uploadAll(service, recording(2, 4))
  await putPart(urlOf(session, 2), recording(1, 5))
  assertRefused(await completeReceived(session.id), 409, 'checksum_mismatch')
})

test('the whole file is verified by a service that did not see its parts arrive', async () => {
  const bytes = recording(2, 6)
  const right = await uploadAll(service, bytes)
  const wrong = await uploadAll(service, bytes, { sha256: 'b'.repeat(64) })
  await service.restart()
  assert.equal((await complete(service, right.session.id, right.parts)).status, 200)
  assertRefused(await complete(service, wrong.session.id, wrong.parts), 409, 'checksum_mismatch')
})

test('a file whose last parts arrive after a restart is verified whole', async () => {
  const bytes = recording(2, 7)
  const parts = partsOf(bytes)
  const session = await createSession(service, bytes)
  await putPart(urlOf(session, 1), parts[0] ?? bytes)
  await service.restart()
  const { upload } = await retrieve(session.id)
  assert.deepEqual(
    upload?.parts.map((part) => part.number),
    [2],
  )
  for (const { number, url } of upload?.parts ?? []) await putPart(url, parts[number - 1] ?? bytes)
  assert.equal((await completeReceived(session.id)).status, 200)
})

test('completing twice is a conflict', async () => {
  const { session, parts } = await uploadAll(service, recording(1))
  await complete(service, session.id, parts)
  assertRefused(await complete(service, session.id, parts), 409, 'already_completed')
})

test('parts not received are a conflict that keeps what is there', async () => {
  const bytes = recording(2, 8)
  const session = await createSession(service, bytes)
  const parts = partsOf(bytes)
  await putPart(urlOf(session, 2), parts[1] ?? bytes)
  const named = parts.map((part, index) => ({ number: index + 1, etag: sha256(part).toString('hex') }))
  assertRefused(await complete(service, session.id, named), 409, 'parts_missing')
  const { status, upload } = await retrieve(session.id)
  assert.equal(status, 'uploading')
  assert.deepEqual(
    upload?.received.map((part) => part.number),
    [2],
  )
})

type Named = { number: number; etag: string }

const misnamed: Record<string, (parts: Named[]) => Named[]> = {
  'the last part left out': (parts) => parts.slice(0, 2),
  'the first part left out': (parts) => parts.slice(1),
  'a part in the middle left out': (parts) => parts.filter((part) => part.number !== 2),
  'the parts in another order': (parts) => parts.toReversed(),
  'a part named twice': (parts) => parts.flatMap((part) => (part.number === 2 ? [part, part] : [part])),
  'a part twice and another left out': (parts) =>
    parts.map((part, at) => (at === 2 ? { ...part, number: 2 } : part)),
  'a part too many': (parts) => [...parts, { number: 4, etag: 'a'.repeat(64) }],
}
test('parts not all named, in order, once each, are refused on parts', async (t) => {
  const { session, parts } = await uploadAll(service, recording(3))
  for (const [what, misname] of Object.entries(misnamed)) {
    await t.test(what, async () => {
      assertRefused(await complete(service, session.id, misname(parts)), 400, 'parameter_invalid', 'parts')
    })
  }
  assert.equal((await complete(service, session.id, parts)).status, 200, 'named well, they complete')
})

test('parts that are misnamed are refused before parts that are missing', async () => {
  const session = await createSession(service, recording(2))
  const answer = await complete(service, session.id, [{ number: 1, etag: 'a'.repeat(64) }])
  assertRefused(answer, 400, 'parameter_invalid', 'parts')
})

test('an ETag that is not the stored one is refused by its place', async () => {
  const { session, parts } = await uploadAll(service, recording(2))
  const wrong = parts.map((part) => (part.number === 2 ? { ...part, etag: 'a'.repeat(64) } : part))
  assertRefused(await complete(service, session.id, wrong), 400, 'parameter_invalid', 'parts[1].etag')
})

test('the ETag of a part that was sent again meanwhile is refused by its place', async () => {
  const bytes = recording(2, 9)
  const { session, parts } = await uploadAll(service, bytes)
  await putPart(urlOf(session, 2), recording(1, 10))
  assertRefused(await complete(service, session.id, parts), 400, 'parameter_invalid', 'parts[1].etag')
})

const badBodies: [what: string, body: unknown, param: string][] = [
  ['no parts', {}, 'parts'],
  ['an empty array', { parts: [] }, 'parts'],
  ['null', { parts: null }, 'parts'],
  ['an object', { parts: { number: 1 } }, 'parts'],
  ['a part without its ETag', { parts: [{ number: 1 }] }, 'parts[0].etag'],
  ['a part without its number', { parts: [{ etag: 'a'.repeat(64) }] }, 'parts[0].number'],
  ['part number 0', { parts: [{ number: 0, etag: 'a'.repeat(64) }] }, 'parts[0].number'],
  ['a number as text', { parts: [{ number: '1', etag: 'a'.repeat(64) }] }, 'parts[0].number'],
  ['number 1.5', { parts: [{ number: 1.5, etag: 'a'.repeat(64) }] }, 'parts[0].number'],
  ['an empty ETag', { parts: [{ number: 1, etag: '' }] }, 'parts[0].etag'],
  ['an ETag with one quote', { parts: [{ number: 1, etag: `"${'a'.repeat(64)}` }] }, 'parts[0].etag'],
  ['a weak ETag', { parts: [{ number: 1, etag: `W/"${'a'.repeat(64)}"` }] }, 'parts[0].etag'],
  ['an ETag that is a number', { parts: [{ number: 1, etag: 5 }] }, 'parts[0].etag'],
  ['a part that is null', { parts: [null] }, 'parts[0]'],
]
for (const [what, body, param] of badBodies) {
  test(`${what} is refused on ${param}`, async () => {
    const id = await seedSession(service.database.db, 'default')
    assertRefused(await post(id, body), 400, 'parameter_invalid', param)
  })
}

test('a field of a part that is not in the contract is refused by its path', async () => {
  const { session, parts } = await uploadAll(service, recording(2))
  const more = parts.map((part) => (part.number === 2 ? { ...part, bytes: 5 } : part))
  assertRefused(await post(session.id, { parts: more }), 400, 'parameter_unknown', 'parts[1].bytes')
})

test('a complete that names 10,000 parts is within the limits of a body', async () => {
  const { id } = await createSession(service, recording(1))
  const parts = Array.from({ length: 10_000 }, (_, index) => ({
    number: index + 1,
    etag: `"${'a'.repeat(64)}"`,
  }))
  assertRefused(await post(id, { parts }), 400, 'parameter_invalid', 'parts')
})

test('an unknown session is not found', async () => {
  const answer = await complete(service, `ses_${'0'.repeat(36)}`, [{ number: 1, etag: 'a'.repeat(64) }])
  assertRefused(answer, 404, 'session_not_found')
})

function post(id: string, body: unknown): Promise<Answer<Session>> {
  return call<Session>(service.url, 'POST', `/v1/sessions/${id}/complete`, { key: service.key, body })
}

async function retrieve(id: string): Promise<Session> {
  return (await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })).body
}

/** Completes with what the service says it has received. */
async function completeReceived(id: string): Promise<Answer<Session>> {
  const { upload } = await retrieve(id)
  return complete(
    service,
    id,
    (upload?.received ?? []).map(({ number, etag }) => ({ number, etag })),
  )
}
