import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SessionList } from '@tapedeck/contract'
import { type Answer, call } from './support/client.ts'
import { assertRefused } from './support/refusal.ts'
import { seedSession } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
let cursor: string
before(async () => {
  service = await startService()
  for (let index = 0; index < 4; index++) {
    await seedSession(service.database.db, 'default', { site: 'hall', device: 'amr-07', status: 'processed' })
  }
  cursor = (await list('site=hall&limit=2')).body.next_cursor ?? ''
})
after(() => service.close())

test('a cursor goes on with the same filters and any page size', async () => {
  for (const limit of [1, 2, 50]) {
    const { status, body } = await list(`site=hall&limit=${limit}&cursor=${cursor}`)
    assert.equal(status, 200)
    assert.equal(body.data.length, Math.min(limit, 2))
  }
})

test('a cursor can be used again and gives the same page', async () => {
  const pages = [await list(`site=hall&cursor=${cursor}`), await list(`site=hall&cursor=${cursor}`)]
  assert.deepEqual(pages[0]?.body, pages[1]?.body)
})

test('a cursor outlives a restart of the service', async () => {
  await service.restart()
  assert.equal((await list(`site=hall&cursor=${cursor}`)).status, 200)
})

test('a cursor goes into a query as it is', () => {
  assert.equal(encodeURIComponent(cursor), cursor)
})

for (const filters of [
  '',
  'site=other',
  'site=hall&device=amr-07',
  'site=hall&status=processed',
  'site=hall&created[gte]=2020-01-01T00:00:00Z',
  'site=hall&issue=message_gap',
]) {
  test(`the cursor of site=hall is refused with ${filters || 'no filter'}`, async () => {
    assertRefused(await list(`${filters}&cursor=${cursor}`), 400, 'parameter_invalid', 'cursor')
  })
}

test('a filter moved from one name to another is another filter set', async () => {
  const ofSite = (await list('site=hall&limit=1')).body.next_cursor
  assertRefused(await list(`device=hall&cursor=${ofSite}`), 400, 'parameter_invalid', 'cursor')
})

test('the same time in another offset is the same filter', async () => {
  const first = await list('limit=1&created[gte]=2020-01-01T00:00:00Z')
  const second = await list(
    `limit=1&created[gte]=2020-01-01T01:00:00%2B01:00&cursor=${first.body.next_cursor}`,
  )
  assert.equal(second.status, 200)
})

test('the cursor of another organisation is refused', async () => {
  const key = await service.makeKey({ organisation: 'cursor-other' })
  assertRefused(await list(`site=hall&cursor=${cursor}`, key), 400, 'parameter_invalid', 'cursor')
})

test('the cursor of the live organisation is refused in its sandbox', async () => {
  const key = await service.makeKey({ mode: 'test' })
  assertRefused(await list(`site=hall&cursor=${cursor}`, key), 400, 'parameter_invalid', 'cursor')
})

test('a cursor with any one character changed, left out or added is refused', async () => {
  const garbled = [...cursor.slice(0, -1)].flatMap((character, at) => {
    const other = character === 'A' ? 'B' : 'A'
    return [cursor.slice(0, at) + other + cursor.slice(at + 1), cursor.slice(0, at) + cursor.slice(at + 1)]
  })
  for (const text of [...garbled, `${cursor}A`, `A${cursor}`]) {
    assertRefused(await list(`site=hall&cursor=${text}`), 400, 'parameter_invalid', 'cursor')
  }
})

test('no other last character stands for the same cursor', async () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (const last of alphabet.replace(cursor.slice(-1), '')) {
    const answer = await list(`site=hall&cursor=${cursor.slice(0, -1)}${last}`)
    assertRefused(answer, 400, 'parameter_invalid', 'cursor')
  }
})

for (const text of ['', 'x', '%00', 'null', 'ses_1', 'A'.repeat(1024), 'A'.repeat(1025), '%2B%2F%3D']) {
  test(`cursor=${text.slice(0, 10)} is refused`, async () => {
    assertRefused(await list(`site=hall&cursor=${text}`), 400, 'parameter_invalid', 'cursor')
  })
}

test('a made-up cursor is refused, however well-formed', async () => {
  const place = Buffer.from(`1767225600000.ses_${'0'.repeat(36)}`)
  const text = Buffer.concat([Buffer.alloc(16), place]).toString('base64url')
  assertRefused(await list(`cursor=${text}`), 400, 'parameter_invalid', 'cursor')
})

function list(query: string, key = service.key): Promise<Answer<SessionList>> {
  return call<SessionList>(service.url, 'GET', `/v1/sessions?${query}`, { key })
}
