import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ErrorBody, Session } from '@tapedeck/contract'
import {
  call,
  complete,
  createSession,
  followSession,
  partsOf,
  putPart,
  recording,
  sha256,
  uploadAll,
} from './support/client.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

test('a file uploaded in parts is verified whole and handed to processing', async () => {
  const bytes = recording(3)
  const { session, parts } = await uploadAll(service, bytes, { filename: 'run.unknown' })
  const completed = await complete(service, session.id, parts)
  assert.equal(completed.status, 200)
  assert.equal(completed.body.status, 'processing')
  assert.equal(completed.body.sha256, sha256(bytes).toString('hex'))
  const final = await followSession(service, session.id)
  assert.equal(final.status, 'failed')
  assert.deepEqual(
    final.issues.map((issue) => issue.code),
    ['format_unsupported'],
  )
})

test('parts that arrive in any order and in parallel make the same file', async () => {
  const bytes = recording(5, 2)
  const session = await createSession(service, bytes)
  const parts = partsOf(bytes)
  const order = [4, 2, 5, 1, 3]
  await Promise.all(
    order.map((number) => putPart(session.upload.parts[number - 1]?.url ?? '', parts[number - 1] ?? bytes)),
  )
  const { body } = await call<Session>(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key })
  assert.deepEqual(body.upload?.parts, [])
  const completed = await complete(service, session.id, body.upload?.received ?? [])
  assert.equal(completed.status, 400, 'received has more fields than complete takes')
  const named = (body.upload?.received ?? []).map(({ number, etag }) => ({ number, etag }))
  assert.equal((await complete(service, session.id, named)).status, 200)
})

test('a file that does not hash to its declared digest is refused with every part kept', async () => {
  const bytes = recording(2, 3)
  const { session, parts } = await uploadAll(service, bytes, { sha256: 'a'.repeat(64) })
  const refused = await call<ErrorBody>(service.url, 'POST', `/v1/sessions/${session.id}/complete`, {
    key: service.key,
    body: { parts },
  })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.error.code, 'checksum_mismatch')
  const { body } = await call<Session>(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key })
  assert.equal(body.status, 'uploading')
  assert.equal(body.upload?.received.length, 2)
})
