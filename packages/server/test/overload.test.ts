import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { call, checksum, createSession, putPart, recording, urlOf } from './support/client.ts'
import { holding, untilBlocked } from './support/hold.ts'
import { head, openRaw } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService({ loadLimits: { requests: 1, uploads: 1, loopDelayMs: 60_000 } })
})
after(() => service.close())

test('a part beyond those that can be taken at once is 503 for now, and is taken later', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  const raw = await openRaw(service.url)
  await raw.send(
    head('PUT', urlOf(session), {
      Expect: '100-continue',
      'Content-Length': bytes.length,
      ...checksum(bytes),
    }),
  )
  assert.equal((await raw.answer()).status, 100)
  const refused = await putPart(urlOf(session), bytes)
  await raw.send(bytes)
  const taken = await raw.answer()
  raw.hangUp()
  assertRefused(refused, 503, 'overloaded')
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  assert.equal(taken.status, 200)
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
})

test('a request beyond those that can be answered at once is 503 for now', async () => {
  const { running, answer: refused } = await whileBusy(() =>
    call(service.url, 'GET', '/v1/sessions', { key: service.key }),
  )
  assertRefused(refused, 503, 'overloaded')
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal((await running).status, 200)
  assert.equal((await call(service.url, 'GET', '/v1/sessions', { key: service.key })).status, 200)
})

for (const path of ['/healthz', '/metrics']) {
  test(`${path} answers although the service is busy`, async () => {
    const { running, answer } = await whileBusy(() => fetch(`${service.url}${path}`))
    await running
    assert.equal(answer.status, 200)
  })
}

/** Acts while the only request that may run waits for the database. */
async function whileBusy<T>(act: () => Promise<T>) {
  return holding(service.database.db, sql`lock table sessions in access exclusive mode`, async () => {
    const running = call(service.url, 'GET', '/v1/sessions', { key: service.key })
    await untilBlocked(service.database.db, 'from "sessions"')
    return { running, answer: await act() }
  })
}
