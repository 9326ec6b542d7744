import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session } from '@tapedeck/contract'
import { setPaused } from '../src/operate/gate.ts'
import { call, complete, followSession, recording, sha256, uploadAll } from './support/client.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

// From a completed upload into processing, and the operator's gate between them.

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

test('completing answers 200 with the whole session, processing', async () => {
  const bytes = recording(2)
  const { session, parts } = await uploadAll(service, bytes, { site: 'hall', device: 'amr-07' })
  const { status, body } = await complete(service, session.id, parts)
  assert.equal(status, 200)
  assert.partialDeepStrictEqual(body, {
    id: session.id,
    object: 'session',
    site: 'hall',
    device: 'amr-07',
    filename: 'run.mcap',
    bytes: bytes.length,
    sha256: sha256(bytes).toString('hex'),
    status: 'processing',
    recorded_at: null,
    duration_s: null,
    segment_count: 0,
    notes: null,
    processed_at: null,
  })
  assert.deepEqual([body.channels, body.issues], [[], []])
  assert.ok(!('upload' in body))
})

test('while processing is paused, completed sessions rest in uploaded, and resume moves them on', async () => {
  await setPaused(service.database.db, true)
  const { session, parts } = await uploadAll(service, recording(1, 11))
  const { status, body } = await complete(service, session.id, parts)
  assert.deepEqual([status, body.status], [200, 'uploaded'])
  assertRefused(await complete(service, session.id, parts), 409, 'already_completed')
  const resting = await retrieve(session.id)
  assert.equal(resting.status, 'uploaded')
  assert.ok(!('upload' in resting))
  await setPaused(service.database.db, false)
  assert.equal((await followSession(service, session.id)).status, 'failed')
})

test('a session that rests in uploaded is still there after a restart, and moves on', async () => {
  await setPaused(service.database.db, true)
  const { session, parts } = await uploadAll(service, recording(1, 12))
  await complete(service, session.id, parts)
  await service.restart()
  assert.equal((await retrieve(session.id)).status, 'uploaded')
  await setPaused(service.database.db, false)
  assert.equal((await followSession(service, session.id)).status, 'failed')
})

test('a failed session is found by its issue, and says why it failed', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 13), { site: 'issue site' })
  await complete(service, session.id, parts)
  const { status, issues } = await followSession(service, session.id)
  assert.equal(status, 'failed')
  assert.ok(issues.length > 0)
  for (const { code, severity, channel, detail } of issues) {
    assert.match(code, /^[a-z0-9_]+$/)
    assert.match(severity, /^(info|warning|error)$/)
    assert.deepEqual([typeof channel, typeof detail], ['string', 'string'])
  }
  const path = `/v1/sessions?site=issue%20site&issue=${issues[0]?.code}`
  const { body } = await call<{ data: Session[] }>(service.url, 'GET', path, { key: service.key })
  assert.deepEqual(
    body.data.map((found) => found.id),
    [session.id],
  )
})

async function retrieve(id: string): Promise<Session> {
  return (await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })).body
}
