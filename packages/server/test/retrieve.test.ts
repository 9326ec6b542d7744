import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CreatedSession, Session } from '@tapedeck/contract'
import { setPaused } from '../src/operate/gate.ts'
import {
  type Answer,
  call,
  complete,
  createSession,
  partsOf,
  putPart,
  recording,
  SMALLEST_PART,
  sha256,
  uploadAll,
} from './support/client.ts'
import { testClock } from './support/clock.ts'
import { assertRefused } from './support/refusal.ts'
import { seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'

const HOUR_MS = 3600_000
const UTC_MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const clock = testClock()
let service: Service
before(async () => {
  service = await startService({ clock })
  await setPaused(service.database.db, true)
})
after(() => service.close())

test('a fresh session has every field of the contract, null or empty where nothing is known', async () => {
  const bytes = recording(1)
  const { id } = await createSession(service, bytes, { site: 'hall', filename: 'a.mcap' })
  const { upload, created_at, ...rest } = (await retrieve(id)).body
  assert.deepEqual(rest, {
    id,
    object: 'session',
    site: 'hall',
    device: null,
    filename: 'a.mcap',
    bytes: 1000,
    sha256: sha256(bytes).toString('hex'),
    status: 'uploading',
    recorded_at: null,
    duration_s: null,
    channels: [],
    segment_count: 0,
    issues: [],
    notes: null,
    processed_at: null,
  })
  assert.match(created_at, UTC_MS)
  assert.ok(upload)
})

test('device and notes come back as they were given', async () => {
  const { id } = await createSession(service, recording(1), { device: 'amr-07', notes: 'wheel changed' })
  const { body } = await retrieve(id)
  assert.deepEqual([body.device, body.notes], ['amr-07', 'wheel changed'])
})

test('a processed session shows all that processing found', async () => {
  const found = {
    duration_s: 12.5,
    channels: ['camera/front', 'imu'],
    segment_count: 3,
    issues: [{ code: 'clock_offset_estimated', severity: 'info' as const, channel: 'imu', detail: '3 ms' }],
  }
  const id = await seedSession(service.database.db, 'default', {
    ...found,
    issues: JSON.stringify(found.issues),
    status: 'processed',
    recorded_at: new Date('2026-03-14T09:26:53.589Z'),
    processed_at: new Date('2026-03-14T10:00:00Z'),
  })
  const { body } = await retrieve(id)
  assert.deepEqual(
    { ...body, id: '', created_at: '', sha256: '' },
    {
      ...found,
      id: '',
      object: 'session',
      site: 'lab',
      device: null,
      filename: 'run.mcap',
      bytes: 1000,
      sha256: '',
      status: 'processed',
      recorded_at: '2026-03-14T09:26:53.589Z',
      notes: null,
      created_at: '',
      processed_at: '2026-03-14T10:00:00.000Z',
    },
  )
})

test('while uploading, upload lists the missing parts and the received ones', async () => {
  const bytes = recording(3, 2)
  const session = await createSession(service, bytes)
  const second = partsOf(bytes)[1] ?? bytes
  await putPart(urlOf(session, 2), second)
  const { upload } = (await retrieve(session.id)).body
  const hex = sha256(second).toString('hex')
  assert.equal(upload?.part_size, SMALLEST_PART)
  assert.deepEqual(
    upload.parts.map((part) => [Object.keys(part).sort(), part.number]),
    [
      [['number', 'url'], 1],
      [['number', 'url'], 3],
    ],
  )
  assert.deepEqual(
    upload.received.map(({ url, ...part }) => [part, typeof url]),
    [[{ number: 2, bytes: SMALLEST_PART, sha256: hex, etag: `"${hex}"` }, 'string']],
  )
})

test('an interrupted upload goes on with the URLs of a retrieve alone', async () => {
  const bytes = recording(2, 3)
  const parts = partsOf(bytes)
  const session = await createSession(service, bytes)
  await putPart(urlOf(session, 1), parts[0] ?? bytes)
  const { upload } = (await retrieve(session.id)).body
  for (const { number, url } of upload?.parts ?? []) await putPart(url, parts[number - 1] ?? bytes)
  const { body } = await retrieve(session.id)
  const named = (body.upload?.received ?? []).map(({ number, etag }) => ({ number, etag }))
  assert.equal((await complete(service, session.id, named)).status, 200)
})

test('the URL of a received part replaces it', async () => {
  const bytes = recording(1, 4)
  const { session } = await uploadAll(service, bytes)
  const { upload } = (await retrieve(session.id)).body
  const other = recording(1, 5)
  assert.equal((await putPart(upload?.received[0]?.url ?? '', other)).status, 200)
  const { body } = await retrieve(session.id)
  assert.equal(body.upload?.received[0]?.sha256, sha256(other).toString('hex'))
})

test('retrieve signs afresh: its URLs work when those of the create have expired', async () => {
  const bytes = recording(1, 6)
  const session = await createSession(service, bytes)
  clock.advance(25 * HOUR_MS)
  const { upload } = (await retrieve(session.id)).body
  assert.ok(
    Date.parse(upload?.expires_at ?? '') - Date.parse(session.upload.expires_at) >= 25 * HOUR_MS - 1000,
  )
  assertRefused(await putPart(urlOf(session, 1), bytes), 403, 'upload_url_expired')
  assert.equal((await putPart(upload?.parts[0]?.url ?? '', bytes)).status, 200)
})

test('a session that is not uploading any more carries no upload', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 7))
  await complete(service, session.id, parts)
  assert.ok(!('upload' in (await retrieve(session.id)).body))
})

test('another key of the same organisation sees the same session', async () => {
  const { id } = await createSession(service, recording(1, 9))
  const answer = await retrieve(id, await service.makeKey({ permissions: ['read'] }))
  assert.equal(answer.body.id, id)
})

test('an unknown session is not found', async () => {
  assertRefused(await retrieve(`ses_${'0'.repeat(36)}`), 404, 'session_not_found')
})

for (const id of ['ses_', 'ses_%00', "ses_'--", 'x'.repeat(400), '%E2%82%AC', 'ses_%2F..%2F', '%20']) {
  test(`the id ${id.slice(0, 20)} is not found`, async () => {
    assertRefused(await retrieve(id), 404, 'session_not_found')
  })
}

function retrieve(id: string, key = service.key): Promise<Answer<Session>> {
  return call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key })
}

function urlOf(session: CreatedSession, number: number): string {
  return session.upload.parts[number - 1]?.url ?? ''
}
