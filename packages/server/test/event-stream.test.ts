import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { MAX_EVENT_STREAMS } from '@tapedeck/contract'
import { revokeKey } from '../src/access/keys.ts'
import { call } from './support/client.ts'
import { type Ending, endWithFile } from './support/ending.ts'
import { type Service, startService } from './support/service.ts'
import { openAnnouncements } from './support/webhooks.ts'

// The stream as a client sees it that has nothing but fetch.

const file = endWithFile()
let service: Service
let announce: Awaited<ReturnType<typeof openAnnouncements>>

before(async () => {
  service = await startService()
  file.after(() => service.close())
  announce = await openAnnouncements(file, service)
})

type Message = { id: string; event: string; data: string }
type Stream = { response: Response; next(): Promise<Message | undefined> }

async function open(t: Ending, query = '', key = service.key, headers = {}): Promise<Stream> {
  const stop = new AbortController()
  t.after(async () => stop.abort())
  const response = await fetch(`${service.url}/v1/events/stream${query}`, {
    headers: { Authorization: `Bearer ${key}`, ...headers },
    signal: stop.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  async function next(): Promise<Message | undefined> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end === -1) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) return undefined
        text += value
        continue
      }
      const block = text.slice(0, end)
      text = text.slice(end + 2)
      const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? []
      if (id !== '') return { id, event, data }
    }
  }
  return { response, next }
}

const object = (id: number) => ({ id: `ses_${id}`, object: 'session' })

test('what happens from now on is told in its order, exactly as receivers get it', async (t) => {
  await announce('session.failed', object(0))
  const { response, next } = await open(t)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.match(response.headers.get('request-id') ?? '', /^req_/)
  assert.ok(response.headers.has('ratelimit-remaining'))
  for (const id of [1, 2, 3]) await announce('session.processed', object(id))
  for (const id of [1, 2, 3]) {
    const message = await next()
    const event = JSON.parse(message?.data ?? '{}')
    assert.deepEqual(
      [event.data.object.id, message?.event, message?.id],
      [`ses_${id}`, 'session.processed', event.id],
    )
    const stored = await service.database.db
      .selectFrom('events')
      .select('body')
      .where('id', '=', event.id)
      .executeTakeFirst()
    assert.equal(message?.data, stored?.body)
  }
})

test('only the types that were asked for', async (t) => {
  const { next } = await open(t, '?type=export.failed,session.failed')
  await announce('session.processed', object(4))
  await announce('session.failed', object(5))
  assert.equal((await next())?.event, 'session.failed')
})

test('after an event, by query or by header, everything that came since is told', async (t) => {
  const first = await open(t)
  await announce('session.failed', object(6))
  const seen = await first.next()
  await announce('session.failed', object(7))
  for (const stream of [
    await open(t, `?after=${seen?.id}`),
    await open(t, '', service.key, { 'Last-Event-ID': seen?.id }),
  ]) {
    const ids: string[] = []
    while (!ids.includes('ses_7')) {
      const { data = '{}', id = '' } = (await stream.next()) ?? {}
      assert.notEqual(id, seen?.id)
      ids.push(JSON.parse(data).data.object.id)
    }
  }
})

test('an event that is committed late is not left out', async (t) => {
  const { next } = await open(t)
  const { db } = service.database
  const late = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const { organisation_id, body } = await db
    .selectFrom('events')
    .select(['organisation_id', 'body'])
    .executeTakeFirstOrThrow()
  const slow = db.transaction().execute(async (trx) => {
    const row = { id: `evt_${'0'.repeat(36)}`, organisation_id, type: 'session.failed' as const, body }
    await trx
      .insertInto('events')
      .values({ ...row, created_at: new Date() })
      .execute()
    begun.resolve()
    await late.promise
  })
  await begun.promise
  await announce('session.failed', object(8))
  assert.equal(JSON.parse((await next())?.data ?? '{}').data.object.id, 'ses_8')
  late.resolve()
  await slow
  await announce('session.failed', object(9))
  assert.equal((await next())?.id, `evt_${'0'.repeat(36)}`)
  assert.equal(JSON.parse((await next())?.data ?? '{}').data.object.id, 'ses_9')
})

test('no organisation hears of another', async (t) => {
  const key = await service.makeKey({ organisation: 'acme' })
  const { next } = await open(t, '', key)
  await announce('session.failed', object(10))
  const body = { url: `${service.url}/nothing`, events: ['session.failed'] }
  const made = await call<{ id: string }>(service.url, 'POST', '/v1/webhook_endpoints', { key, body })
  await call(service.url, 'POST', `/v1/webhook_endpoints/${made.body.id}/test`, { key })
  assert.equal((await next())?.event, 'ping')
})

test('a revoked key hears nothing more', async (t) => {
  const key = await service.makeKey()
  const { next } = await open(t, '', key)
  await announce('session.failed', object(12))
  assert.ok(await next())
  const { db } = service.database
  const { id } = await db.selectFrom('api_keys').select('id').orderBy('id', 'desc').executeTakeFirstOrThrow()
  await revokeKey(db, id)
  await announce('session.failed', object(13))
  assert.equal(await next(), undefined)
})

const wrong: [string, number, string, Record<string, string>?][] = [
  ['?type=nothing', 400, 'parameter_invalid'],
  ['?since=1', 400, 'parameter_unknown'],
  ['?after=evt_1', 400, 'parameter_invalid'],
  [`?after=evt_${'1'.repeat(36)}`, 404, 'event_not_found'],
  ['', 400, 'parameter_invalid', { 'Last-Event-ID': 'x' }],
  ['', 401, 'key_invalid', { Authorization: 'Bearer svc_live_x' }],
]
for (const [query, status, code, headers = {}] of wrong) {
  test(`GET /v1/events/stream${query} ${JSON.stringify(headers)} is ${status} ${code}`, async () => {
    const answer = await call<{ error: { code: string } }>(service.url, 'GET', `/v1/events/stream${query}`, {
      key: service.key,
      headers,
    })
    assert.deepEqual([answer.status, answer.body.error.code], [status, code])
  })
}

test('an organisation has so many streams and no more; one that ends makes room', async (t) => {
  const key = await service.makeKey({ organisation: 'many' })
  const stop = new AbortController()
  t.after(async () => stop.abort())
  const opened = await Promise.all(
    Array.from({ length: MAX_EVENT_STREAMS - 1 }, () => open({ after() {} }, '', key)),
  )
  const last = await fetch(`${service.url}/v1/events/stream`, {
    headers: { Authorization: `Bearer ${key}` },
    signal: stop.signal,
  })
  assert.equal(last.status, 200)
  const refused = await call<{ error: { code: string } }>(service.url, 'GET', '/v1/events/stream', { key })
  assert.deepEqual([refused.status, refused.body.error.code], [429, 'too_many_streams'])
  assert.ok(refused.headers.has('retry-after'))
  stop.abort()
  for (;;) {
    const again = await fetch(`${service.url}/v1/events/stream`, {
      headers: { Authorization: `Bearer ${key}` },
    })
    await again.body?.cancel()
    if (again.status === 200) break
  }
  for (const { response } of opened) await response.body?.cancel().catch(() => {})
})

test('streams end at once when the service stops', async (t) => {
  const own = await startService()
  const response = await fetch(`${own.url}/v1/events/stream`, {
    headers: { Authorization: `Bearer ${own.key}` },
  })
  t.after(() => own.close())
  const startMs = performance.now()
  const [text] = await Promise.all([response.text(), own.restart()])
  assert.equal(text, ': the stream is open\n\n')
  assert.ok(performance.now() - startMs < 9_000, 'before connections are cut')
})
