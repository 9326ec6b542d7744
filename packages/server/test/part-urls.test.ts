import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setPaused } from '../src/operate/gate.ts'
import {
  call,
  complete,
  createSession,
  putPart,
  recording,
  SMALLEST_PART,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { testClock } from './support/clock.ts'
import { assertNothingKept } from './support/received.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

const clock = testClock()
let service: Service
before(async () => {
  service = await startService({ clock })
  await setPaused(service.database.db, true)
})
after(() => service.close())

const tampered: Record<string, (url: string) => string> = {
  'a changed signature': (url) => url.replace(/signature=./, (text) => swapLast(text)),
  'a cut signature': (url) => url.slice(0, -1),
  'a longer signature': (url) => `${url}A`,
  'no signature': (url) => url.replace(/&signature=.*/, ''),
  'an empty signature': (url) => url.replace(/signature=.*/, 'signature='),
  'a later expiry': (url) => url.replace(/expires=(\d+)/, (_, seconds) => `expires=${Number(seconds) + 60}`),
  'no expiry': (url) => url.replace(/expires=\d+&/, ''),
  'another part number': (url) => url.replace('/1?', '/2?'),
  'part number 01': (url) => url.replace('/1?', '/01?'),
  'part number 0': (url) => url.replace('/1?', '/0?'),
  'a part number that is none': (url) => url.replace('/1?', '/one?'),
  'another session': (url) => url.replace(/ses_[0-9a-v]{36}/, `ses_${'0'.repeat(36)}`),
  'a session that is none': (url) => url.replace(/ses_[0-9a-v]{36}/, 'ses_x'),
  'one more parameter': (url) => `${url}&x=1`,
  'a parameter given twice': (url) => `${url}&expires=1`,
  'no query': (url) => url.replace(/\?.*/, ''),
  'garbled percent-encoding': (url) => `${url}%zz`,
}
for (const [what, tamper] of Object.entries(tampered)) {
  test(`an upload URL with ${what} is refused and nothing is kept`, async () => {
    const session = await createSession(service, recording(1), { bytes: 2 * SMALLEST_PART })
    const answer = await putPart(tamper(urlOf(session)), recording(1))
    assertRefused(answer, 403, 'signature_invalid')
    await assertNothingKept(service, session.id)
  })
}

test('the URL of one session opens no other', async () => {
  const bytes = recording(1)
  const [mine, other] = [await createSession(service, bytes), await createSession(service, bytes)]
  assertRefused(await putPart(urlOf(mine).replace(mine.id, other.id), bytes), 403, 'signature_invalid')
})

test('an upload URL works until it expires, then is refused', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  clock.advance(Date.parse(session.upload.expires_at) - clock.now() - 60_000)
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
  clock.advance(60_000)
  assertRefused(await putPart(urlOf(session), bytes), 403, 'upload_url_expired')
})

test('of an expired URL with a wrong signature only the signature is judged', async () => {
  const bytes = recording(1)
  const url = urlOf(await createSession(service, bytes)).replace(/expires=\d+/, 'expires=1')
  assertRefused(await putPart(url, bytes), 403, 'signature_invalid')
})

test('a completed session takes no more parts', async () => {
  const bytes = recording(1)
  const { session, parts } = await uploadAll(service, bytes)
  await complete(service, session.id, parts)
  assertRefused(await putPart(urlOf(session), bytes), 409, 'upload_closed')
})

test('a deleted session is not found by its part URLs', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  await call(service.url, 'DELETE', `/v1/sessions/${session.id}`, { key: service.key })
  assertRefused(await putPart(urlOf(session), bytes), 404, 'session_not_found')
})

for (const method of ['GET', 'POST', 'DELETE', 'PATCH', 'OPTIONS']) {
  test(`an upload URL does not answer ${method}`, async () => {
    const response = await fetch(urlOf(await createSession(service, recording(1))), { method })
    const answer = { status: response.status, headers: response.headers, body: await response.json() }
    assertRefused(answer, 404, 'route_unknown')
  })
}

function swapLast(text: string): string {
  return text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')
}
