import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, call, createSession, recording } from './support/client.ts'
import { exchange } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

for (const query of [
  '?',
  '?&',
  '?limit=1&',
  '?limit=1&&status=failed',
  '?created%5Bgte%5D=2026-01-01T00:00:00Z',
]) {
  test(`/v1/sessions${query} is a list`, async () => {
    assert.equal((await list(query)).status, 200)
  })
}

for (const [query, param] of [
  ['?page=2', 'page'],
  ['?sites=lab', 'sites'],
  ['?Limit=5', 'Limit'],
  ['?limit =5', 'limit '],
  ['?created=2026-01-01T00:00:00Z', 'created'],
  ['?created[gt]=2026-01-01T00:00:00Z', 'created[gt]'],
  ['?status[]=failed', 'status[]'],
  ['?filter[site]=lab', 'filter[site]'],
  ['?__proto__=x', '__proto__'],
  ['?constructor=x', 'constructor'],
  ['?=x', ''],
  ['?x', 'x'],
] as const) {
  test(`${query} has an unknown parameter`, async () => {
    assertRefused(await list(query), 400, 'parameter_unknown', param)
  })
}

for (const [query, param] of [
  ['?limit=1&limit=2', 'limit'],
  ['?limit=1&limit=1', 'limit'],
  ['?site=a&site=b', 'site'],
  ['?site=a&%73ite=b', 'site'],
  ['?created[gte]=2026-01-01T00:00:00Z&created%5Bgte%5D=2026-01-01T00:00:00Z', 'created[gte]'],
  ['?cursor=a&cursor=b', 'cursor'],
] as const) {
  test(`${query} gives a parameter twice`, async () => {
    assertRefused(await list(query), 400, 'parameter_invalid', param)
  })
}

for (const [query, param] of [
  ['?site=%', 'site'],
  ['?site=%zz', 'site'],
  ['?site=%ff', 'site'],
  ['?site=%ED%A0%80', 'site'],
  ['?site=%C0%AF', 'site'],
] as const) {
  test(`${query} is badly encoded`, async () => {
    assertRefused(await list(query), 400, 'parameter_invalid', param)
  })
}

test('a badly encoded name is refused', async () => {
  assertRefused(await list('?%zz=1'), 400, 'parameter_invalid')
})

for (const name of [
  'site',
  'device',
  'status',
  'channel',
  'issue',
  'limit',
  'cursor',
  'created[gte]',
  'recorded[lt]',
]) {
  test(`${name} without a value is refused by name`, async () => {
    assertRefused(await list(`?${name}=`), 400, 'parameter_invalid', name)
    assertRefused(await list(`?${name}`), 400, 'parameter_invalid', name)
  })
}

test('plus and %20 are both a space, %2B is a plus', async () => {
  await createSession(service, recording(1), { site: 'hall 1' })
  await createSession(service, recording(1), { site: 'hall+1' })
  for (const [query, site] of [
    ['?site=hall+1', 'hall 1'],
    ['?site=hall%201', 'hall 1'],
    ['?site=hall%2B1', 'hall+1'],
  ] as const) {
    const { body } = await call<{ data: { site: string }[] }>(service.url, 'GET', `/v1/sessions${query}`, {
      key: service.key,
    })
    assert.deepEqual(
      body.data.map((session) => session.site),
      [site],
    )
  }
})

test('a value may hold what separates others', async () => {
  await createSession(service, recording(1), { site: 'a=b&c=d?#' })
  const { body } = await call<{ data: unknown[] }>(service.url, 'GET', '/v1/sessions?site=a=b%26c=d?%23', {
    key: service.key,
  })
  assert.equal(body.data.length, 1)
})

for (const [method, path] of [
  ['POST', '/v1/sessions'],
  ['GET', `/v1/sessions/ses_${'0'.repeat(36)}`],
  ['DELETE', `/v1/sessions/ses_${'0'.repeat(36)}`],
] as const) {
  test(`${method} ${path.slice(0, 16)} takes no query`, async () => {
    const body = { site: 'lab', filename: 'run.mcap', bytes: 1000, sha256: '0'.repeat(64) }
    const answer = await call(service.url, method, `${path}?site=lab`, {
      key: service.key,
      ...(method === 'POST' && { body }),
    })
    assertRefused(answer, 400, 'parameter_unknown', 'site')
  })
}

test('a very long query is answered as an error of the contract', async () => {
  const request = (length: number) =>
    `GET /v1/sessions?site=${'a'.repeat(length)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`
  assertRefused(await exchange(service.url, request(10_000)), 400, 'parameter_invalid', 'site')
  assertRefused(await exchange(service.url, request(20_000)), 400, 'request_malformed')
})

test('an error repeats no more than a little of what was sent', async () => {
  const name = 'n'.repeat(10_000)
  for (const query of [`?${name}=1`, `?${name}=1&${name}=2`, `?${name}=%zz`]) {
    const answer = await list(query)
    assert.equal(answer.status, 400)
    assert.ok(JSON.stringify(answer.body).length < 2_000, `${query.length} characters came back`)
  }
})

function list(query: string): Promise<Answer> {
  return call(service.url, 'GET', `/v1/sessions${query}`, { key: service.key })
}
