import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Session, type SessionList, sessionStatuses } from '@tapedeck/contract'
import { sql } from 'kysely'
import { setPaused } from '../src/operate/gate.ts'
import { type Answer, call, createSession, recording } from './support/client.ts'
import { assertRefused } from './support/refusal.ts'
import { organisationId, seedFacets, seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

test('a list is an envelope with the sessions as retrieve shows them, but for upload', async () => {
  const { key } = await makeOrganisation()
  const { id } = await createSession({ url: service.url, key }, recording(1), { device: 'amr-07' })
  const { status, body } = await list(key)
  assert.equal(status, 200)
  const { upload, ...session } = await retrieve(key, id)
  assert.ok(upload)
  assert.deepEqual(body, { object: 'list', data: [session], has_more: false, next_cursor: null })
})

test('an organisation without sessions has an empty list', async () => {
  const { key } = await makeOrganisation()
  const { body } = await list(key)
  assert.deepEqual(body, { object: 'list', data: [], has_more: false, next_cursor: null })
})

test('the newest session comes first', async () => {
  const { key, seed } = await makeOrganisation()
  const middle = await seed({ created_at: new Date('2026-01-02T00:00:00Z') })
  const newest = await seed({ created_at: new Date('2026-01-03T00:00:00Z') })
  const oldest = await seed({ created_at: new Date('2026-01-01T00:00:00Z') })
  assert.deepEqual(idsOf(await list(key)), [newest, middle, oldest])
})

test('paging shows every session once, in order, also where many were created in one millisecond', async () => {
  const { key, seed } = await makeOrganisation()
  const times = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z']
  const seeded: { id: string; time: string }[] = []
  for (const time of times) {
    for (let index = 0; index < 5; index++) {
      const id = await seed({ created_at: new Date(time), recorded_at: new Date(time) })
      await seedFacets(service.database.db, id, { channel: ['imu'], issue: ['message_gap'] })
      seeded.push({ id, time })
    }
  }
  const expected = seeded.toSorted((a, b) => compare(b.time, a.time) || compare(b.id, a.id))
  // Each of them is answered from another index.
  const recorded = 'recorded[lt]=2027-01-01T00:00:00Z'
  for (const filter of [
    '',
    'site=lab',
    'channel=imu',
    recorded,
    `${recorded}&channel=imu&issue=message_gap`,
  ]) {
    for (const limit of [1, 2, 3, 5, 9, 10, 11]) {
      const pages = await allPages(key, `limit=${limit}&${filter}`)
      assert.deepEqual(
        pages.flatMap((page) => page.data.map((session) => session.id)),
        expected.map(({ id }) => id),
      )
      assert.equal(pages.length, Math.ceil(expected.length / limit))
    }
  }
})

test('sessions created while a client pages never shift a page', async () => {
  const { key, seed } = await makeOrganisation()
  for (let day = 1; day <= 6; day++) await seed({ created_at: new Date(`2026-01-0${day}T00:00:00Z`) })
  const before = idsOf(await list(key))
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Answer<SessionList> = await list(key, `limit=2${cursor ? `&cursor=${cursor}` : ''}`)
    seen.push(...idsOf(page))
    cursor = page.body.next_cursor
    await seed({ created_at: new Date('2026-02-01T00:00:00Z') })
    await createSession({ url: service.url, key }, recording(1))
  } while (cursor)
  assert.deepEqual(seen, before)
})

test('sessions deleted while a client pages leave no gap', async () => {
  const { key, seed } = await makeOrganisation()
  for (let day = 1; day <= 5; day++) await seed({ created_at: new Date(`2026-01-0${day}T00:00:00Z`) })
  const [first, second, ...rest] = idsOf(await list(key))
  const page = await list(key, 'limit=2')
  for (const id of [first, second]) await call(service.url, 'DELETE', `/v1/sessions/${id}`, { key })
  const next = await list(key, `limit=3&cursor=${page.body.next_cursor}`)
  assert.deepEqual(idsOf(next), rest)
})

test('a page holds 50 sessions unless told, and 500 at most', async () => {
  const { key, name } = await makeOrganisation()
  await sql`insert into sessions (id, organisation_id, site, filename, bytes, sha256, part_size, part_count)
    select 'ses_' || lpad(n::text, 36, '0'), ${await organisationId(service.database.db, name)}, 'lab', 'x', 1,
      sha256(''), 8000000, 1 from generate_series(1, 501) n`.execute(service.database.db)
  const usual = await list(key)
  assert.deepEqual([usual.body.data.length, usual.body.has_more], [50, true])
  const most = await list(key, 'limit=500')
  assert.deepEqual([most.body.data.length, most.body.has_more], [500, true])
  const last = await list(key, `limit=500&cursor=${most.body.next_cursor}`)
  assert.deepEqual([last.body.data.length, last.body.has_more, last.body.next_cursor], [1, false, null])
  assert.equal(new Set([...idsOf(most), ...idsOf(last)]).size, 501)
})

for (const limit of ['0', '501', '-1', '1.5', '1e2', 'ten', '', '0x10', '9'.repeat(30)]) {
  test(`limit=${limit} is refused, not clamped`, async () => {
    assertRefused(await list(service.key, `limit=${limit}`), 400, 'parameter_invalid', 'limit')
  })
}

test('filters name what they want, alone and together', async () => {
  const { key, seed } = await makeOrganisation()
  const { db } = service.database
  const like = {
    site: 'hall ß',
    device: 'amr-07',
    status: 'processed' as const,
    created_at: new Date('2026-01-02T00:00:00Z'),
    recorded_at: new Date('2025-12-24T12:00:00Z'),
  }
  const wanted = await seed(like)
  await seedFacets(db, wanted, { channel: ['imu', 'camera/front'], issue: ['message_gap', 'time_jump'] })
  const filters = {
    site: 'hall ß',
    device: 'amr-07',
    status: 'processed',
    channel: 'camera/front',
    issue: 'message_gap',
    'created[gte]': '2026-01-02T00:00:00Z',
    'created[lt]': '2026-01-02T00:00:00.001Z',
    'recorded[gte]': '2025-12-24T12:00:00Z',
    'recorded[lt]': '2025-12-24T12:00:00.001Z',
  }
  // Each of the others lies outside of exactly one filter.
  const others: Record<keyof typeof filters, string> = {
    site: await seed({ ...like, site: 'hall s' }),
    device: await seed({ ...like, device: null }),
    status: await seed({ ...like, status: 'failed' }),
    channel: await seed(like),
    issue: await seed(like),
    'created[gte]': await seed({ ...like, created_at: new Date('2026-01-01T23:59:59.999Z') }),
    'created[lt]': await seed({ ...like, created_at: new Date('2026-01-02T00:00:00.001Z') }),
    'recorded[gte]': await seed({ ...like, recorded_at: new Date('2025-12-24T11:59:59.999Z') }),
    'recorded[lt]': await seed({ ...like, recorded_at: new Date('2025-12-24T12:00:00.001Z') }),
  }
  for (const [name, id] of Object.entries(others)) {
    await seedFacets(db, id, {
      channel: name === 'channel' ? ['camera/rear'] : ['camera/front'],
      issue: name === 'issue' ? ['time_jump'] : ['message_gap'],
    })
  }
  const everyone = new Set([wanted, ...Object.values(others)])

  for (const [name, value] of Object.entries(filters)) {
    const found = new Set(idsOf(await list(key, queryOf({ [name]: value }))))
    const missing = [...everyone].filter((id) => !found.has(id))
    assert.deepEqual(missing, [Reflect.get(others, name)], `${name} alone leaves out one`)
  }
  assert.deepEqual(idsOf(await list(key, queryOf(filters))), [wanted], 'all together')
  for (const name of Object.keys(filters)) {
    const rest = Object.fromEntries(Object.entries(filters).filter(([other]) => other !== name))
    const found = new Set(idsOf(await list(key, queryOf(rest))))
    assert.deepEqual(found, new Set([wanted, Reflect.get(others, name)]), `all but ${name}`)
  }
})

test('a filter that nothing fits gives an empty list', async () => {
  const { key, seed } = await makeOrganisation()
  await seed({})
  for (const filter of ['site=nowhere', 'device=none', 'channel=none', 'issue=none', 'status=uploaded']) {
    assert.deepEqual((await list(key, filter)).body.data, [], filter)
  }
})

test('a text filter is exact: no wildcard, no other case, no part of a name', async () => {
  const { key, seed } = await makeOrganisation()
  await seed({ site: 'Hall_1' })
  for (const site of ['hall_1', 'Hall', 'Hall%25', 'Hall_', 'HallX1']) {
    assert.deepEqual((await list(key, `site=${site}`)).body.data, [], site)
  }
  assert.equal((await list(key, 'site=Hall_1')).body.data.length, 1)
})

test('sessions not recorded at a known time are in no range of recorded', async () => {
  const { key, seed } = await makeOrganisation()
  await seed({ recorded_at: null })
  assert.deepEqual((await list(key, 'recorded[gte]=0001-01-01T00:00:00Z')).body.data, [])
  assert.deepEqual((await list(key, 'recorded[lt]=9999-01-01T00:00:00Z')).body.data, [])
})

test('each state shows the sessions that are in it', async () => {
  const { key, seed } = await makeOrganisation()
  await setPaused(service.database.db, true)
  for (const status of sessionStatuses) {
    const id = await seed({ status })
    assert.deepEqual(idsOf(await list(key, `status=${status}`)), [id], status)
  }
})

test('filters hold on every page of a long list', async () => {
  const { key, seed } = await makeOrganisation()
  const { db } = service.database
  const wanted: string[] = []
  for (let index = 0; index < 7; index++) {
    const id = await seed({ site: index % 2 ? 'a' : 'b', created_at: new Date(1_767_225_600_000 + index) })
    await seedFacets(db, id, { channel: ['imu'], issue: index < 5 ? ['message_gap'] : ['time_jump'] })
    if (index % 2 === 0 && index < 5) wanted.unshift(id)
  }
  const pages = await allPages(key, 'limit=1&site=b&channel=imu&issue=message_gap')
  assert.deepEqual(
    pages.flatMap((page) => page.data.map((session) => session.id)),
    wanted,
  )
})

const range: [filter: string, isIn: boolean][] = [
  ['created[gte]=2026-03-14T09:26:53.589Z', true],
  ['created[gte]=2026-03-14T09:26:53.590Z', false],
  ['created[gte]=2026-03-14T09:26:53.588Z', true],
  ['created[gte]=2026-03-14T09:26:53.589000001Z', false],
  ['created[gte]=2026-03-14T09:26:53.588999999Z', true],
  ['created[gte]=2026-03-14T09:26:53Z', true],
  ['created[gte]=2026-03-14T09:26:54Z', false],
  ['created[lt]=2026-03-14T09:26:53.589Z', false],
  ['created[lt]=2026-03-14T09:26:53.590Z', true],
  ['created[lt]=2026-03-14T09:26:53.589000001Z', true],
  ['created[lt]=2026-03-14T09:26:53.588999999Z', false],
  ['created[gte]=2026-03-14T10:26:53.589%2B01:00', true],
  ['created[gte]=2026-03-14T10:26:53.590%2B01:00', false],
  ['created[lt]=2026-03-14T03:56:53.590-05:30', true],
  ['created[lt]=2026-03-14T03:56:53.589-05:30', false],
  ['created%5Bgte%5D=2026-03-14T09:26:53.589Z', true],
  ['created[gte]=2026-03-14T09:26:53.589Z&created[lt]=2026-03-14T09:26:53.589Z', false],
  ['created[gte]=2027-01-01T00:00:00Z&created[lt]=2026-01-01T00:00:00Z', false],
  ['created[gte]=0001-01-01T00:00:00%2B23:59', true],
  ['created[lt]=9999-12-31T23:59:59-23:59', true],
]
test('a session created at 09:26:53.589 is in exactly the ranges that hold that millisecond', async () => {
  const { key, seed } = await makeOrganisation()
  await seed({ created_at: new Date('2026-03-14T09:26:53.589Z') })
  for (const [filter, isIn] of range) {
    const { status, body } = await list(key, filter)
    assert.deepEqual([status, body.data?.length], [200, isIn ? 1 : 0], filter)
  }
})

test('the created_at of a session is a filter that finds it', async () => {
  const { key } = await makeOrganisation()
  const { id } = await createSession({ url: service.url, key }, recording(1))
  const { created_at } = await retrieve(key, id)
  assert.deepEqual(idsOf(await list(key, `created[gte]=${created_at}`)), [id])
  assert.deepEqual(idsOf(await list(key, `created[lt]=${created_at}`)), [])
})

for (const time of [
  '',
  '2026-03-14',
  '2026-03-14T09:26:53',
  '2026-03-14 09:26:53Z',
  '2026-03-14T09:26:53%2B01',
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-03-14T24:00:00Z',
  '2026-03-14T09:60:00Z',
  '2026-03-14T09:26:53%2B24:00',
  '1773480413',
  'yesterday',
  'NaN',
]) {
  test(`"${time}" is no time`, async () => {
    for (const name of ['created[gte]', 'created[lt]', 'recorded[gte]', 'recorded[lt]']) {
      assertRefused(await list(service.key, `${name}=${time}`), 400, 'parameter_invalid', name)
    }
  })
}

for (const [name, value] of [
  ['status', 'done'],
  ['status', 'UPLOADING'],
  ['status', ''],
  ['site', ''],
  ['site', '%00'],
  ['site', 'x'.repeat(256)],
  ['device', ''],
  ['channel', ''],
  ['issue', 'Message Gap'],
  ['issue', ''],
] as const) {
  test(`${name}=${value.slice(0, 20)} is refused by name`, async () => {
    assertRefused(await list(service.key, `${name}=${value}`), 400, 'parameter_invalid', name)
  })
}

function list(key: string, query = ''): Promise<Answer<SessionList>> {
  return call<SessionList>(service.url, 'GET', `/v1/sessions${query === '' ? '' : `?${query}`}`, { key })
}

async function retrieve(key: string, id: string): Promise<Session> {
  return (await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key })).body
}

async function allPages(key: string, query: string): Promise<SessionList[]> {
  const pages: SessionList[] = []
  let cursor: string | null = null
  do {
    const { body }: Answer<SessionList> = await list(key, `${query}${cursor ? `&cursor=${cursor}` : ''}`)
    assert.equal(body.has_more, body.next_cursor !== null)
    pages.push(body)
    cursor = body.next_cursor
  } while (cursor && pages.length < 100)
  return pages
}

function idsOf(answer: Answer<SessionList>): string[] {
  return answer.body.data.map((session) => session.id)
}

function queryOf(filters: Record<string, string>): string {
  return Object.entries(filters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&')
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

let organisations = 0

/** An organisation of its own for a test, so that its list holds what the test put there. */
async function makeOrganisation() {
  const name = `list-${++organisations}`
  const key = await service.makeKey({ organisation: name })
  const seed = (fields: Parameters<typeof seedSession>[2]) => seedSession(service.database.db, name, fields)
  return { name, key, seed }
}
