import assert from 'node:assert/strict'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  call,
  complete,
  createSession,
  followSession,
  putPart,
  recording,
  uploadAll,
  urlOf,
} from './support/client.ts'
import { exchange } from './support/raw.ts'
import { errorOf } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

const SECRET = 'a secret of this test alone, which no log may ever hold'
let log = ''
let service: Service
before(async () => {
  service = await startService({
    env: { TAPEDECK_SECRET: SECRET },
    logTo: {
      write(line) {
        log += line
      },
    },
  })
})
after(() => service.close())

test('/healthz answers without a key', async () => {
  const { status, body } = await call(service.url, 'GET', '/healthz')
  assert.equal(status, 200)
  assert.deepEqual(body, { status: 'ok' })
})

test('/readyz has tried the database and the storage', async () => {
  const { status, body } = await call(service.url, 'GET', '/readyz')
  assert.equal(status, 200)
  assert.deepEqual(body, { status: 'ok', checks: { database: 'ok', storage: 'ok' } })
})

test('/readyz is 503 while the storage cannot be written, and recovers with it', async () => {
  await withoutStorage(async () => {
    const { status, body } = await call(service.url, 'GET', '/readyz')
    assert.equal(status, 503)
    assert.deepEqual(body, { status: 'unavailable', checks: { database: 'ok', storage: 'unavailable' } })
    assert.equal((await call(service.url, 'GET', '/healthz')).status, 200)
  })
  assert.equal((await call(service.url, 'GET', '/readyz')).status, 200)
})

test('a part that cannot be stored is a fault of the service, and can be sent again', async () => {
  const bytes = recording(1)
  const session = await createSession(service, bytes)
  const refused = await withoutStorage(() => putPart(urlOf(session), bytes))
  assert.ok(refused.status >= 500)
  assert.equal(errorOf(refused).type, 'api_error')
  assert.equal((await putPart(urlOf(session), bytes)).status, 200)
})

test('/metrics counts requests by route and status, and the bytes of parts', async () => {
  const bytesBefore = await metric('tapedeck_part_bytes_total')
  const { session } = await uploadAll(service, recording(1))
  await call(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key })
  await call(service.url, 'GET', '/v1/sessions')
  await until('the requests are counted', async () => {
    const retrieved = await metric(
      'tapedeck_http_request_seconds_count{method="GET",route="/v1/sessions/:id",status="200"}',
    )
    const refused = await metric(
      'tapedeck_http_request_seconds_count{method="GET",route="/v1/sessions",status="401"}',
    )
    return retrieved > 0 && refused > 0
  })
  assert.equal(await metric('tapedeck_part_bytes_total'), bytesBefore + 1000)
})

test('/metrics names no session, so that it does not grow with them', async () => {
  const { session } = await uploadAll(service, recording(1))
  await call(service.url, 'GET', `/v1/sessions/${session.id}`, { key: service.key })
  const text = await (await fetch(`${service.url}/metrics`)).text()
  assert.ok(!text.includes('ses_'))
})

test('every metric that docs/operating.md tells of is there', async () => {
  const elsewhere = new Set(['tapedeck_rate_limits_shared', 'tapedeck_previous_secret_needed_seconds'])
  const docs = await readFile('docs/operating.md', 'utf8')
  const named = new Set([...docs.matchAll(/\btapedeck_\w+/g)].map(([name]) => name.replace(/_count$/, '')))
  const text = await (await fetch(`${service.url}/metrics`)).text()
  const told = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name))
  assert.ok(named.size > 10)
  assert.deepEqual(
    [...named].filter((name) => !told.has(name) && !elsewhere.has(name)),
    [],
  )
})

test('every request has an id of its own', async () => {
  const answers = await Promise.all(Array.from({ length: 300 }, () => fetch(`${service.url}/healthz`)))
  const ids = answers.map((answer) => answer.headers.get('request-id') ?? '')
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^req_[0-9a-z]{20,}$/)
})

test('a request id is never taken from the client', async () => {
  const given = 'req_00000000000000000000000000000000'
  const headers = { 'Request-Id': given, 'X-Request-Id': given }
  const { headers: answered } = await call(service.url, 'GET', '/healthz', { headers })
  assert.notEqual(answered.get('request-id'), given)
})

test('each request is logged with its id, path and status', async () => {
  const answer = await call(service.url, 'GET', `/v1/sessions/ses_${'0'.repeat(36)}`, { key: service.key })
  const line = await loggedRequest(answer.headers.get('request-id') ?? '')
  assert.equal(line.method, 'GET')
  assert.equal(line.path, `/v1/sessions/ses_${'0'.repeat(36)}`)
  assert.equal(line.status, 404)
})

test('no key, signature or secret is ever logged', async () => {
  const revoked = `svc_live_${'9'.repeat(32)}`
  const bytes = recording(2)
  const { session, parts } = await uploadAll(service, bytes)
  await putPart(`${urlOf(session)}x`, recording(1))
  await complete(service, session.id, parts, { 'Idempotency-Key': 'logged-once' })
  await followSession(service, session.id)
  await call(service.url, 'GET', '/v1/sessions', { key: revoked })
  await call(service.url, 'GET', `/v1/sessions?key=${service.key}`, { key: service.key })
  await call(service.url, 'GET', `/v1/nothing?key=${service.key}`, { key: service.key })
  await withoutStorage(() => putPart(urlOf(session), recording(1)))
  await exchange(service.url, `GET / HTTP/1.1\r\nAuthorization: Bearer ${service.key}\r\nbroken\r\n\r\n`)
  const last = await call(service.url, 'GET', '/healthz')
  await loggedRequest(last.headers.get('request-id') ?? '')

  const signature = new URL(urlOf(session)).searchParams.get('signature') ?? ''
  for (const [what, text] of Object.entries({
    'the API key': service.key,
    'a wrong API key': revoked,
    'the signature of an upload URL': signature,
    'the secret': SECRET,
  })) {
    assert.ok(text.length > 20)
    assert.ok(!log.includes(text), `${what} was logged`)
  }
})

test('a fault is logged with its cause, and the client is told none of it', async () => {
  const session = await createSession(service, recording(1))
  const refused = await withoutStorage(() => putPart(urlOf(session), recording(1)))
  const { message = '', request_id = '' } = errorOf(refused)
  assert.ok(!message.includes(service.dataDir))
  await until('the fault is logged', async () =>
    lines().some((line) => line.reqId === request_id && Number(line.level) >= 40 && 'err' in line),
  )
})

/** Runs `act` while a file stands where the folder for incoming parts should be. */
async function withoutStorage<T>(act: () => Promise<T>): Promise<T> {
  const incoming = join(service.dataDir, 'recordings', 'incoming')
  const aside = join(service.dataDir, 'aside')
  await rename(incoming, aside)
  await writeFile(incoming, '')
  try {
    return await act()
  } finally {
    await rename(incoming, join(service.dataDir, 'not a folder'))
    await rename(aside, incoming)
  }
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text()
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? 0)
}

function lines(): Record<string, unknown>[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

function loggedRequest(id: string): Promise<Record<string, unknown>> {
  return until(`request ${id} is logged`, async () =>
    lines().find((line) => line.reqId === id && line.msg === 'request'),
  )
}
