import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SessionList } from '@tapedeck/contract'
import { hashKey, listKeys, revokeKey } from '../src/access/keys.ts'
import {
  type Answer,
  call,
  createSession,
  putPart,
  recording,
  sha256,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { assertRefused } from './support/refusal.ts'
import { seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

/** Every verb on a session: how it is called on one that exists. */
const verbs: [
  name: string,
  permission: 'read' | 'write',
  act: (key: string, id: string) => Promise<Answer>,
][] = [
  ['list', 'read', (key) => call(service.url, 'GET', '/v1/sessions', { key })],
  ['retrieve', 'read', (key, id) => call(service.url, 'GET', `/v1/sessions/${id}`, { key })],
  ['create', 'write', (key) => call(service.url, 'POST', '/v1/sessions', { key, body: newSession() })],
  [
    'complete',
    'write',
    (key, id) =>
      call(service.url, 'POST', `/v1/sessions/${id}/complete`, {
        key,
        body: { parts: [{ number: 1, etag: sha256(recording(1)).toString('hex') }] },
      }),
  ],
  ['delete', 'write', (key, id) => call(service.url, 'DELETE', `/v1/sessions/${id}`, { key })],
]

for (const [name, permission, act] of verbs) {
  test(`${name} without a key is 401`, async () => {
    const answer = await withoutKey(name)
    assertRefused(answer, 401, 'key_missing')
  })

  test(`${name} with a wrong key is 401`, async () => {
    assertRefused(await act(`svc_live_${'0'.repeat(32)}`, 'ses_x'), 401, 'key_invalid')
  })

  test(`${name} with a read key is ${permission === 'read' ? 'allowed' : '403'}`, async () => {
    const { session } = await uploadAll(service, recording(1))
    const answer = await act(await service.makeKey({ permissions: ['read'] }), session.id)
    if (permission === 'read') assert.equal(answer.status, 200)
    else assertRefused(answer, 403, 'write_required')
  })
}

for (const [name, , act] of verbs.filter(([name]) => name !== 'list' && name !== 'create')) {
  test(`${name} of another organisation's session is 403 and changes nothing`, async () => {
    const { session } = await uploadAll(service, recording(1))
    const stranger = await service.makeKey({ organisation: 'stranger' })
    assertRefused(await act(stranger, session.id), 403, 'organisation_mismatch')
    const { body } = await call<{ status: string }>(service.url, 'GET', `/v1/sessions/${session.id}`, service)
    assert.equal(body.status, 'uploading')
  })

  test(`${name} of a live session with a test key of the same organisation is 403`, async () => {
    const { session } = await uploadAll(service, recording(1))
    assertRefused(
      await act(await service.makeKey({ mode: 'test' }), session.id),
      403,
      'organisation_mismatch',
    )
  })
}

for (const authorization of [
  '',
  'Bearer',
  'Bearer ',
  'Basic c3ZjX2xpdmVfOg==',
  'Token svc_live_x',
  'svc_live_x',
  'Bearer svc_live_a svc_live_b',
]) {
  test(`"Authorization: ${authorization}" carries no key`, async () => {
    assertRefused(await withAuthorization(authorization), 401, 'key_missing')
  })
}

for (const key of [
  'x',
  'svc_live_',
  'svc_live_short',
  `svc_prod_${'0'.repeat(32)}`,
  `svc_live_${'0'.repeat(33)}`,
  `svc_live_${'Z'.repeat(32)}`,
  `svc_live_${'0'.repeat(8_000)}`,
]) {
  test(`the key ${key.slice(0, 20)} of ${key.length} characters is not known`, async () => {
    assertRefused(await withAuthorization(`Bearer ${key}`), 401, 'key_invalid')
  })
}

test('the word Bearer may be written in any case', async () => {
  assert.equal((await withAuthorization(`bearer ${service.key}`)).status, 200)
})

test('a key with one character changed is not known', async () => {
  const changed = service.key.slice(0, -1) + (service.key.endsWith('0') ? '1' : '0')
  assertRefused(await withAuthorization(`Bearer ${changed}`), 401, 'key_invalid')
})

test('a live key does not become a test key by its prefix', async () => {
  const renamed = service.key.replace('svc_live_', 'svc_test_')
  assertRefused(await withAuthorization(`Bearer ${renamed}`), 401, 'key_invalid')
})

test('a list shows the own organisation only', async () => {
  const stranger = await service.makeKey({ organisation: 'list-stranger' })
  await createSession(service, recording(1))
  const { id } = await createSession({ url: service.url, key: stranger }, recording(1))
  assert.deepEqual(await listedIds(stranger), [id])
  assert.ok(!(await listedIds(service.key)).includes(id))
})

test('sites of the same name in two organisations are two sites', async () => {
  const stranger = await service.makeKey({ organisation: 'site-stranger' })
  await createSession(service, recording(1), { site: 'shared name' })
  await createSession({ url: service.url, key: stranger }, recording(1), { site: 'shared name' })
  const { body } = await call<SessionList>(service.url, 'GET', '/v1/sessions?site=shared%20name', {
    key: stranger,
  })
  assert.equal(body.data.length, 1)
})

test('live and test keys carry their prefixes', async () => {
  assert.match(await service.makeKey({ mode: 'live' }), /^svc_live_[0-9a-z]{32}$/)
  assert.match(await service.makeKey({ mode: 'test' }), /^svc_test_[0-9a-z]{32}$/)
})

test('a test key reaches the sandbox twin, and a live key does not', async () => {
  await service.makeKey({ organisation: 'twins' })
  const live = await service.makeKey({ organisation: 'twins' })
  const sandbox = await service.makeKey({ organisation: 'twins', mode: 'test' })
  const { id } = await createSession({ url: service.url, key: sandbox }, recording(1))
  assert.ok((await listedIds(sandbox)).includes(id))
  assert.deepEqual(await listedIds(live), [])
  assertRefused(
    await call(service.url, 'GET', `/v1/sessions/${id}`, { key: live }),
    403,
    'organisation_mismatch',
  )
})

test('the sandboxes of two organisations are apart', async () => {
  const one = await service.makeKey({ organisation: 'sandbox-one', mode: 'test' })
  const two = await service.makeKey({ organisation: 'sandbox-two', mode: 'test' })
  const { id } = await createSession({ url: service.url, key: one }, recording(1))
  assertRefused(
    await call(service.url, 'GET', `/v1/sessions/${id}`, { key: two }),
    403,
    'organisation_mismatch',
  )
})

test('from the moment a revocation is acknowledged, the key is refused, however busy it was', async () => {
  const key = await service.makeKey()
  const statuses: number[] = []
  let revoked = false
  const busy = (async () => {
    while (!revoked) statuses.push((await call(service.url, 'GET', '/v1/sessions?limit=1', { key })).status)
  })()
  await until('the key is in use', async () => statuses.length > 0)
  assert.equal(await revokeKey(service.database.db, await idOf(key)), 'revoked')
  const answer = await call(service.url, 'GET', '/v1/sessions?limit=1', { key })
  revoked = true
  await busy
  assertRefused(answer, 401, 'key_revoked')
  assert.equal(statuses[0], 200)
})

test('a revoked key takes with it neither the other keys nor the part URLs that it was given', async () => {
  const [revoked, kept] = [await service.makeKey(), await service.makeKey()]
  const bytes = recording(1)
  const session = await createSession({ url: service.url, key: revoked }, bytes)
  await revokeKey(service.database.db, await idOf(revoked))
  assert.equal((await call(service.url, 'GET', '/v1/sessions?limit=1', { key: kept })).status, 200)
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
})

test('a key remembers when it was last used', async () => {
  const key = await service.makeKey()
  const id = await idOf(key)
  const lastUse = async () =>
    (await listKeys(service.database.db)).find((record) => record.id === id)?.lastUsedAt?.getTime()
  assert.equal(await lastUse(), undefined)
  const before = Date.now()
  await call(service.url, 'GET', '/v1/sessions?limit=1', { key })
  // What is not written yet is written when the service stops.
  await service.restart()
  const usedAt = (await lastUse()) ?? 0
  assert.ok(usedAt >= before && usedAt <= Date.now(), `used at ${usedAt}`)
})

test('the database holds no key that could be used', async () => {
  const key = await service.makeKey()
  const { rows } = await service.database.pool.query('select to_jsonb(k)::text as row from api_keys k')
  const everything = rows.map((row) => row.row).join()
  assert.ok(everything.includes(hashKey(key).toString('hex')), 'the hash is there')
  assert.ok(!everything.includes(key.slice('svc_live_'.length)))
})

test('an object of another organisation is 403, one that is nowhere 404', async () => {
  await service.makeKey({ organisation: 'owner' })
  const id = await seedSession(service.database.db, 'owner')
  assertRefused(await call(service.url, 'GET', `/v1/sessions/${id}`, service), 403, 'organisation_mismatch')
  const nowhere = `ses_${'0'.repeat(36)}`
  assertRefused(await call(service.url, 'GET', `/v1/sessions/${nowhere}`, service), 404, 'session_not_found')
})

function newSession() {
  return { site: 'lab', filename: 'run.mcap', bytes: 1000, sha256: '0'.repeat(64) }
}

function withoutKey(verb: string): Promise<Answer> {
  const id = `ses_${'0'.repeat(36)}`
  switch (verb) {
    case 'list':
      return call(service.url, 'GET', '/v1/sessions')
    case 'create':
      return call(service.url, 'POST', '/v1/sessions', { body: newSession() })
    case 'complete':
      return call(service.url, 'POST', `/v1/sessions/${id}/complete`, { body: { parts: [] } })
    default:
      return call(service.url, verb === 'delete' ? 'DELETE' : 'GET', `/v1/sessions/${id}`)
  }
}

function withAuthorization(authorization: string): Promise<Answer> {
  return call(service.url, 'GET', '/v1/sessions?limit=1', { headers: { Authorization: authorization } })
}

async function listedIds(key: string): Promise<string[]> {
  const { body } = await call<SessionList>(service.url, 'GET', '/v1/sessions', { key })
  return body.data.map((session) => session.id)
}

async function idOf(key: string): Promise<string> {
  const { id } = await service.database.db
    .selectFrom('api_keys')
    .select('id')
    .where('hash', '=', hashKey(key))
    .executeTakeFirstOrThrow()
  return id
}
