import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CreatedSession, Session, SessionList } from '@tapedeck/contract'
import { sql } from 'kysely'
import { setPaused } from '../src/operate/gate.ts'
import {
  call,
  complete,
  createSession,
  putPart,
  recording,
  sha256,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { holding } from './support/hold.ts'
import { exchange, head, openRaw } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { organisationId } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

let service: Service
before(async () => {
  service = await startService()
  await setPaused(service.database.db, true)
})
after(() => service.close())

test('a repeated create is answered with the first answer, byte for byte, and creates nothing', async () => {
  const key = newKey()
  const [first, second] = [await create(key), await create(key)]
  assert.deepEqual([first.status, second.status], [201, 201])
  assert.equal(second.text, first.text)
  assert.equal(second.headers.get('content-type'), first.headers.get('content-type'))
  assert.equal(first.headers.get('idempotent-replayed'), null)
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
  assert.notEqual(second.headers.get('request-id'), first.headers.get('request-id'))
  assert.equal(await countAt(key), 1)
})

test('without a key the same create twice makes two sessions', async () => {
  const body = { ...newSession(), site: 'twice' }
  for (let time = 0; time < 2; time++) {
    await call(service.url, 'POST', '/v1/sessions', { key: service.key, body })
  }
  assert.equal(await countAt('twice'), 2)
})

test('a replay outlives a restart of the service', async () => {
  const key = newKey()
  const first = await create(key)
  await service.restart()
  const second = await create(key)
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
  assert.equal(second.text, first.text)
})

test('a repeated complete is answered with the first answer, not with a conflict', async () => {
  const { session, parts } = await uploadAll(service, recording(1))
  const headers = { 'Idempotency-Key': newKey() }
  const first = await complete(service, session.id, parts, headers)
  const second = await complete(service, session.id, parts, headers)
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.deepEqual(second.body, first.body)
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
})

test('the order of the fields and the white space of a body do not matter', async () => {
  const key = newKey()
  const { site, ...rest } = { ...newSession(), site: key }
  const first = await create(key, JSON.stringify({ site, ...rest }))
  const second = await create(key, JSON.stringify({ ...rest, site }, null, 4))
  assert.equal(second.headers.get('idempotent-replayed'), 'true')
  assert.equal(second.text, first.text)
})

test('the order of parts matters: it is another request', async () => {
  const { session, parts } = await uploadAll(service, recording(2))
  const headers = { 'Idempotency-Key': newKey() }
  await complete(service, session.id, parts, headers)
  const answer = await complete(service, session.id, parts.toReversed(), headers)
  assertRefused(answer, 400, 'idempotency_key_reused', 'Idempotency-Key')
})

test('the same key with another body is refused and creates nothing', async () => {
  const key = newKey()
  await create(key)
  const answer = await create(key, JSON.stringify({ ...newSession(), site: key, bytes: 2000 }))
  assertRefused(answer, 400, 'idempotency_key_reused', 'Idempotency-Key')
  assert.equal(await countAt(key), 1)
})

test('the same key with another path is refused', async () => {
  const [one, two] = [await uploadAll(service, recording(1)), await uploadAll(service, recording(1))]
  const headers = { 'Idempotency-Key': newKey() }
  await complete(service, one.session.id, one.parts, headers)
  const answer = await complete(service, two.session.id, two.parts, headers)
  assertRefused(answer, 400, 'idempotency_key_reused', 'Idempotency-Key')
})

test('the same key in another organisation is another key', async () => {
  const key = newKey()
  const other = await service.makeKey({ organisation: 'other' })
  const sandbox = await service.makeKey({ mode: 'test' })
  const answers = [
    await create(key),
    await create(key, undefined, other),
    await create(key, undefined, sandbox),
  ]
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')]),
    answers.map(() => [201, null]),
  )
  assert.equal(new Set(answers.map((answer) => answer.text)).size, 3)
})

test('the same key with another API key of the organisation is the same key', async () => {
  const key = newKey()
  const first = await create(key)
  const second = await create(key, undefined, await service.makeKey())
  assert.equal(second.text, first.text)
})

test('a key in another case is another key', async () => {
  const key = newKey()
  await create(key)
  assert.equal((await create(key.toUpperCase())).headers.get('idempotent-replayed'), null)
})

test('an error is not stored: the same key works once its cause is gone', async () => {
  const bytes = recording(1, 2)
  const session = await createSession(service, bytes)
  const parts = [{ number: 1, etag: `"${sha256(bytes).toString('hex')}"` }]
  const headers = { 'Idempotency-Key': newKey() }
  assertRefused(await complete(service, session.id, parts, headers), 409, 'parts_missing')
  await putPart(urlOf(session), bytes)
  const answer = await complete(service, session.id, parts, headers)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('idempotent-replayed'), null)
})

test('after an error the key may be used for another request', async () => {
  const headers = { 'Idempotency-Key': newKey() }
  const parts = [{ number: 1, etag: 'a'.repeat(64) }]
  assertRefused(await complete(service, `ses_${'0'.repeat(36)}`, parts, headers), 404, 'session_not_found')
  assert.equal((await create(headers['Idempotency-Key'])).status, 201)
})

test('of many at once with one key one is done, and the others wait or are given its answer', async () => {
  const key = newKey()
  const answers = await Promise.all(Array.from({ length: 8 }, () => create(key)))
  const done = answers.filter((answer) => answer.status === 201)
  assert.equal(done.filter((answer) => answer.headers.get('idempotent-replayed') === null).length, 1)
  assert.equal(new Set(done.map((answer) => answer.text)).size, 1)
  for (const answer of answers)
    if (answer.status !== 201) assertRefused(answer, 409, 'idempotency_key_in_use')
  assert.equal(await countAt(key), 1)
})

test('while the first request runs, the key is in use; when it is done, its answer is given', async () => {
  const key = newKey()
  const { running, second } = await holding(
    service.database.db,
    sql`lock table sessions in share mode`,
    async () => {
      const running = create(key)
      await until('the key is claimed', async () => (await rowOf(key)) !== undefined)
      return { running, second: await create(key) }
    },
  )
  assertRefused(second, 409, 'idempotency_key_in_use', 'Idempotency-Key')
  assert.equal(second.headers.get('retry-after'), '1')
  const first = await running
  assert.equal(first.status, 201)
  assert.equal((await create(key)).text, first.text)
})

test('while the first request runs, another request with its key is refused as reused', async () => {
  const key = newKey()
  const { running, other } = await holding(
    service.database.db,
    sql`lock table sessions in share mode`,
    async () => {
      const running = create(key)
      await until('the key is claimed', async () => (await rowOf(key)) !== undefined)
      return { running, other: await create(key, JSON.stringify({ ...newSession(), bytes: 5 })) }
    },
  )
  assertRefused(other, 400, 'idempotency_key_reused')
  assert.equal((await running).status, 201)
})

test('a client that hung up and asks again gets the answer of its first request', async () => {
  const key = newKey()
  const body = JSON.stringify({ ...newSession(), site: key })
  await holding(service.database.db, sql`lock table sessions in share mode`, async () => {
    const raw = await openRaw(service.url)
    await raw.send(head('POST', `${service.url}/v1/sessions`, headersOf(key, body)) + body)
    await until('the key is claimed', async () => (await rowOf(key)) !== undefined)
    raw.hangUp()
    await raw.closed
  })
  await until('the answer is stored', async () => (await rowOf(key))?.response !== null)
  assert.equal((await create(key)).headers.get('idempotent-replayed'), 'true')
  assert.equal(await countAt(key), 1)
})

test('a key claimed by a node that is gone is taken over', async () => {
  const key = newKey()
  await claimFor(key, 999_999)
  const answer = await create(key)
  assert.deepEqual([answer.status, answer.headers.get('idempotent-replayed')], [201, null])
  assert.equal((await create(key)).text, answer.text)
})

test('a key claimed by a node not seen for a while is taken over', async () => {
  const key = newKey()
  await claimFor(key, await makeNode(new Date(Date.now() - 3600_000)))
  assert.equal((await create(key)).status, 201)
})

test('a key claimed by another node that is alive is in use', async () => {
  const key = newKey()
  await claimFor(key, await makeNode(new Date(Date.now() + 3600_000)))
  assertRefused(await create(key), 409, 'idempotency_key_in_use')
})

test('a key is free again after 24 hours, and not before', async () => {
  const key = newKey()
  const first = await create(key)
  await age(key, '23 hours 59 minutes')
  assert.equal((await create(key)).text, first.text)
  await age(key, '24 hours 1 second')
  const later = await create(key)
  assert.equal(later.status, 201)
  assert.equal(later.headers.get('idempotent-replayed'), null)
  assert.notEqual(later.text, first.text)
  assert.equal((await create(key)).text, later.text, 'the new answer is the one replayed')
})

test('after 24 hours the key may be used for another request', async () => {
  const key = newKey()
  await create(key)
  await age(key, '24 hours 1 second')
  assert.equal((await create(key, JSON.stringify({ ...newSession(), bytes: 7 }))).status, 201)
})

test('the part URLs of a replayed create still work', async () => {
  const key = newKey()
  const bytes = recording(1, 3)
  const body = JSON.stringify({ ...newSession(), sha256: sha256(bytes).toString('hex') })
  await create(key, body)
  const replayed: CreatedSession = JSON.parse((await create(key, body)).text)
  assert.equal((await putPart(urlOf(replayed), bytes)).status, 200)
})

for (const key of ['a', 'x'.repeat(255), '~!@#$%^&*()_+ {}|:"<>?', '0']) {
  test(`a key of ${key.length} printable characters is taken: ${key.slice(0, 25)}`, async () => {
    assert.equal((await create(key)).status, 201)
  })
}

for (const [what, key] of Object.entries({
  'no characters': '',
  '256 characters': 'x'.repeat(256),
  'a tab': 'a\tb',
})) {
  test(`a key of ${what} is refused`, async () => {
    const answer = await create(key, JSON.stringify(newSession()))
    assertRefused(answer, 400, 'parameter_invalid', 'Idempotency-Key')
  })
}

test('GET and DELETE take no notice of a key', async () => {
  const headers = { 'Idempotency-Key': newKey() }
  const { id } = await createSession(service, recording(1))
  const get = () => call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key, headers })
  assert.deepEqual([(await get()).status, (await get()).headers.get('idempotent-replayed')], [200, null])
  const remove = () => call(service.url, 'DELETE', `/v1/sessions/${id}`, { key: service.key, headers })
  assert.deepEqual([(await remove()).status, (await remove()).status], [200, 404])
})

test('a read key is refused before a stored answer is given', async () => {
  const key = newKey()
  await create(key)
  const answer = await create(key, undefined, await service.makeKey({ permissions: ['read'] }))
  assertRefused(answer, 403, 'write_required')
})

test('the stored answer cannot be read from the database', async () => {
  const key = newKey()
  const { text } = await create(key)
  const { response } = (await rowOf(key)) ?? {}
  assert.ok(response && response.length >= text.length)
  const { id } = JSON.parse(text)
  for (const readable of [id, 'session', 'uploading', 'signature', 'http']) {
    assert.ok(!response.includes(readable), `${readable} can be read`)
  }
})

test('the stored answer of one key is worthless under another', async () => {
  const [mine, theirs] = [newKey(), newKey()]
  const body = JSON.stringify({ ...newSession(), site: 'same' })
  await create(mine, body)
  await create(theirs, body)
  await sql`update idempotency_keys set response = (select response from idempotency_keys where key = ${theirs})
    where key = ${mine}`.execute(service.database.db)
  assertRefused(await create(mine, body), 500, 'internal_error')
})

let keys = 0
const newKey = (): string => `idem-${++keys}`

function newSession() {
  return { site: 'lab', filename: 'run.mcap', bytes: 1000, sha256: '0'.repeat(64) }
}

/** Creates a session at a site named like the key. */
async function create(idempotencyKey: string, body?: string, key = service.key) {
  const text = body ?? JSON.stringify({ ...newSession(), site: idempotencyKey || 'lab' })
  const url = `${service.url}/v1/sessions`
  return exchange(service.url, head('POST', url, headersOf(idempotencyKey, text, key)) + text)
}

function headersOf(idempotencyKey: string, body: string, key = service.key): Record<string, string | number> {
  return {
    Authorization: `Bearer ${key}`,
    'Idempotency-Key': idempotencyKey,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  }
}

async function countAt(site: string): Promise<number> {
  const path = `/v1/sessions?site=${encodeURIComponent(site)}`
  return (await call<SessionList>(service.url, 'GET', path, { key: service.key })).body.data.length
}

async function rowOf(key: string) {
  return service.database.db
    .selectFrom('idempotency_keys')
    .select(['response', 'node_id'])
    .where('organisation_id', '=', await organisationId(service.database.db, 'default'))
    .where('key', '=', key)
    .executeTakeFirst()
}

/** Leaves the key as a node leaves it that is in the middle of its request. */
async function claimFor(key: string, nodeId: number): Promise<void> {
  await create(key)
  await sql`update idempotency_keys set response = null, node_id = ${nodeId} where key = ${key}`.execute(
    service.database.db,
  )
}

async function makeNode(seenAt: Date): Promise<number> {
  const { id } = await service.database.db
    .insertInto('nodes')
    .values({ seen_at: seenAt })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

async function age(key: string, interval: string): Promise<void> {
  await sql`update idempotency_keys set created_at = now() - ${interval}::interval where key = ${key}`.execute(
    service.database.db,
  )
}
