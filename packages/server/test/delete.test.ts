import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { DeletedSession, SessionList } from '@tapedeck/contract'
import { sql } from 'kysely'
import { setPaused } from '../src/operate/gate.ts'
import {
  type Answer,
  call,
  checksum,
  complete,
  createSession,
  followSession,
  partsOf,
  putPart,
  recording,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { filesOf, incomingFiles } from './support/disk.ts'
import { head, openRaw } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { seedFacets, seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

test('deleting answers with the id, the object and deleted', async () => {
  const { id } = await createSession(service, recording(1))
  const { status, body } = await remove(id)
  assert.equal(status, 200)
  assert.deepEqual(body, { id, object: 'session', deleted: true })
})

test('a deleted session is not found by any verb, and in no list', async () => {
  const bytes = recording(1)
  const { session, parts } = await uploadAll(service, bytes, { site: 'deleted site' })
  await remove(session.id)
  assertRefused(
    await call(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key }),
    404,
    'session_not_found',
  )
  assertRefused(await complete(service, session.id, parts), 404, 'session_not_found')
  assertRefused(await remove(session.id), 404, 'session_not_found')
  assertRefused(await putPart(urlOf(session), bytes), 404, 'session_not_found')
  const { body } = await call<SessionList>(service.url, 'GET', '/v1/sessions?site=deleted%20site', {
    key: service.key,
  })
  assert.deepEqual(body.data, [])
})

test('the bytes of a deleted session are gone from the disk', async () => {
  const { session } = await uploadAll(service, recording(2))
  assert.notDeepEqual(await filesOf(service.dataDir, session.id), [])
  await remove(session.id)
  await untilGone(session.id)
})

test('deleting one session leaves the bytes of the others', async () => {
  const [kept, removed] = [await uploadAll(service, recording(1)), await uploadAll(service, recording(1))]
  await remove(removed.session.id)
  await untilGone(removed.session.id)
  assert.equal((await complete(service, kept.session.id, kept.parts)).status, 200)
})

test('a session can be deleted in every state', async () => {
  const failed = await uploadAll(service, recording(1))
  await complete(service, failed.session.id, failed.parts)
  await followSession(service, failed.session.id)
  await setPaused(service.database.db, true)
  const uploaded = await uploadAll(service, recording(1))
  await complete(service, uploaded.session.id, uploaded.parts)
  const ids = [
    failed.session.id,
    uploaded.session.id,
    await seedSession(service.database.db, 'default', { status: 'processing' }),
    await seedSession(service.database.db, 'default', { status: 'processed' }),
  ]
  for (const id of ids) {
    assert.equal((await remove(id)).status, 200)
    assertRefused(await remove(id), 404, 'session_not_found')
  }
  await setPaused(service.database.db, false)
  await untilGone(failed.session.id)
  await untilGone(uploaded.session.id)
})

test('a session deleted right after its completion does not come back', async () => {
  const { session, parts } = await uploadAll(service, recording(1))
  await complete(service, session.id, parts)
  await remove(session.id)
  await untilGone(session.id)
  // Another session through the whole of processing: what was queued before it has been worked off.
  const other = await uploadAll(service, recording(1))
  await complete(service, other.session.id, other.parts)
  await followSession(service, other.session.id)
  assertRefused(await remove(session.id), 404, 'session_not_found')
  assert.deepEqual(await filesOf(service.dataDir, session.id), [])
})

test('what was derived from a deleted session is gone with it', async () => {
  const { db } = service.database
  const id = await seedSession(db, 'default', { status: 'processed' })
  await seedFacets(db, id, { channel: ['imu'], issue: ['message_gap'] })
  await remove(id)
  const facets = await db.selectFrom('session_facets').select('value').where('session_id', '=', id).execute()
  const parts = await db.selectFrom('parts').select('number').where('session_id', '=', id).execute()
  assert.deepEqual([facets, parts], [[], []])
})

test('a part on its way in when its session is deleted is refused and leaves nothing on the disk', async () => {
  const bytes = recording(2, 2)
  const [first = bytes] = partsOf(bytes)
  const session = await createSession(service, bytes)
  const raw = await openRaw(service.url)
  await raw.send(head('PUT', urlOf(session), { 'Content-Length': first.length, ...checksum(first) }))
  await raw.send(first.subarray(0, 1000))
  await until('the part is on its way in', async () => (await incomingFiles(service.dataDir)).length > 0)
  await remove(session.id)
  await untilBytesRemoved(session.id)
  await raw.send(first.subarray(1000))
  assertRefused(await raw.answer(), 404, 'session_not_found')
  raw.hangUp()
  await untilGone(session.id)
  await until('nothing is on its way in', async () => (await incomingFiles(service.dataDir)).length === 0)
})

test('of many deletes at once exactly one succeeds', async () => {
  const { id } = await createSession(service, recording(1))
  const answers = await Promise.all(Array.from({ length: 5 }, () => remove(id)))
  const statuses = answers.map((answer) => answer.status).sort()
  assert.deepEqual(statuses, [200, 404, 404, 404, 404])
})

test('a key without write may not delete', async () => {
  const { id } = await createSession(service, recording(1))
  assertRefused(await remove(id, await service.makeKey({ permissions: ['read'] })), 403, 'write_required')
  assert.equal((await remove(id)).status, 200)
})

test("another organisation's session cannot be deleted", async () => {
  const { id } = await createSession(service, recording(1))
  const stranger = await service.makeKey({ organisation: 'stranger' })
  assertRefused(await remove(id, stranger), 403, 'organisation_mismatch')
  assert.equal((await remove(id)).status, 200)
})

test('deleting a session that never was is not found', async () => {
  assertRefused(await remove(`ses_${'0'.repeat(36)}`), 404, 'session_not_found')
})

function remove(id: string, key = service.key): Promise<Answer<DeletedSession>> {
  return call<DeletedSession>(service.url, 'DELETE', `/v1/sessions/${id}`, { key })
}

async function untilGone(id: string): Promise<void> {
  await until(
    `nothing of ${id} is on the disk`,
    async () => (await filesOf(service.dataDir, id)).length === 0,
  )
}

async function untilBytesRemoved(id: string): Promise<void> {
  await until(`the job that removes the bytes of ${id} is done`, async () => {
    const { rows } = await sql`select 1 from jobs.job
      where name = 'remove-objects' and data ->> 'sessionId' = ${id} and state = 'completed'`.execute(
      service.database.db,
    )
    return rows.length > 0
  })
}
