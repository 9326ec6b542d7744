import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { joinAsNode, type Node } from '../src/db/nodes.ts'
import { openShareCounting } from '../src/http/counting.ts'
import { undoAfter } from './embedded/undo.ts'
import { openBrowser } from './support/browser.ts'
import { call } from './support/client.ts'
import { endWithFile } from './support/ending.ts'
import { needsRedis, startRedis, type TestRedis } from './support/redis.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

// What is limited, where several nodes count it: each its share, or all of them together in Redis.

const LIMIT = 40

test('a node counts its share of a limit, as nodes come and go, and never less than one', async () => {
  let nodes = 1
  const counter = openShareCounting(() => nodes).open({ name: 'requests', points: 10, windowS: 60 })
  assert.deepEqual(shown(await counter.spend('a')), { allowed: true, limit: 10, left: 9 })
  nodes = 3
  assert.deepEqual(shown(await counter.look('a')), { allowed: true, limit: 3, left: 2 })
  for (const left of [1, 0]) assert.equal((await counter.spend('a')).left, left)
  assert.deepEqual(shown(await counter.spend('a')), { allowed: false, limit: 3, left: 0 })
  nodes = 1000
  assert.deepEqual(shown(await counter.spend('b')), { allowed: true, limit: 1, left: 0 })
  assert.deepEqual(shown(await counter.spend('b')), { allowed: false, limit: 1, left: 0 })
  nodes = 1
  assert.deepEqual(shown(await counter.spend('a')), { allowed: true, limit: 10, left: 5 })
})

function shown({ allowed, limit, left }: { allowed: boolean; limit: number; left: number }) {
  return { allowed, limit, left }
}

test('without Redis the share follows the nodes that serve the API: workers and the dead do not count', async (t) => {
  const service = await startService({ env: { TAPEDECK_RATE_LIMIT: String(LIMIT) } })
  undoAfter(t, () => service.close())
  assert.equal(await limitAt(service), LIMIT)
  const [worker, other, third] = [
    await join(service, false),
    await join(service, true),
    await join(service, true),
  ]
  undoAfter(t, () => Promise.all([worker.leave(), other.leave()]))
  await until('there are three API nodes', async () => (await limitAt(service)) === Math.floor(LIMIT / 3))
  // Gone without a word: it is not seen any more.
  await third.leave()
  await service.database.db
    .insertInto('nodes')
    .values({ serves_api: true, seen_at: new Date(Date.now() - 60_000) })
    .execute()
  await until('there are two API nodes', async () => (await limitAt(service)) === LIMIT / 2)
  const key = await service.makeKey()
  const answers = []
  for (let request = 0; request <= LIMIT / 2; request++)
    answers.push(await call(service.url, 'GET', '/v1/sessions?limit=1', { key }))
  const left = answers.map(({ headers }) => Number(headers.get('ratelimit-remaining')))
  assert.deepEqual(left, [...Array.from({ length: LIMIT / 2 }, (_, index) => LIMIT / 2 - 1 - index), 0])
  assertRefused(answers.at(-1) ?? assert.fail(), 429, 'rate_limit_exceeded')
})

/** Another node, of the same version and with the same secret. */
async function join({ database: { db } }: Service, servesApi: boolean): Promise<Node> {
  const { secrets, schema_version } = await db
    .selectFrom('nodes')
    .select(['secrets', 'schema_version'])
    .executeTakeFirstOrThrow()
  const [secret = ''] = secrets ?? []
  return joinAsNode(db, {
    alone: false,
    codeVersion: schema_version ?? 0,
    secrets: [secret],
    servesApi,
    onError: (error) => assert.fail(String(error)),
  })
}

async function limitAt({ url }: Service): Promise<number> {
  return Number((await fetch(`${url}/healthz`)).headers.get('ratelimit-limit'))
}

let redis: TestRedis
let first: Service
let second: Service
let log = ''
const ending = endWithFile()
before(async () => {
  if (needsRedis) return
  redis = await startRedis()
  ending.after(() => redis.close())
  const env = { TAPEDECK_RATE_LIMIT: String(LIMIT), REDIS_URL: redis.url }
  const logTo = {
    write(line: string) {
      log += line
    },
  }
  first = await startService({ env, logTo })
  ending.after(() => first.close())
  second = await startService({ env, logTo, beside: first })
  ending.after(() => second.close())
})

test('with Redis all nodes count together', { skip: needsRedis }, async () => {
  const key = await first.makeKey()
  const left = []
  for (const { url } of [first, second, second, first]) {
    const { headers } = await call(url, 'GET', '/v1/sessions?limit=1', { key })
    assert.equal(headers.get('ratelimit-limit'), String(LIMIT))
    left.push(LIMIT - Number(headers.get('ratelimit-remaining')))
  }
  assert.deepEqual(left, [1, 2, 3, 4])
  for (let request = left.length; request < LIMIT; request++)
    assert.equal((await call(first.url, 'GET', '/v1/sessions?limit=1', { key })).status, 200)
  const refused = await call(second.url, 'GET', '/v1/sessions', { key })
  assertRefused(refused, 429, 'rate_limit_exceeded')
  const wait = Number(refused.headers.get('retry-after'))
  assert.ok(wait >= 1 && wait <= 60, `Retry-After: ${wait}`)
})

test('with Redis attempts to sign in are counted together too', { skip: needsRedis }, async () => {
  const attempt = (service: Service) =>
    openBrowser(service.url).call('POST', '/console/api/sign_in', {
      email: 'guessed@example.com',
      password: 'wrong wrong wrong',
    })
  const statuses = []
  for (let count = 0; count < 11; count++)
    statuses.push((await attempt(count % 2 === 0 ? first : second)).status)
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429])
})

for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
  test(`a Redis that has met ${signal} takes no answer away: nodes count their share until it is back`, {
    skip: needsRedis,
  }, async () => {
    await until('limits are shared', async () => (await limitAt(second)) === LIMIT)
    log = ''
    redis.kill(signal)
    await until('the share is counted', async () => (await limitAt(second)) === LIMIT / 2)
    const key = await first.makeKey()
    const { status, headers } = await call(second.url, 'GET', '/v1/sessions', { key })
    assert.deepEqual([status, headers.get('ratelimit-remaining')], [200, String(LIMIT / 2 - 1)])
    assert.equal(await sharedAt(second), 0)
    assert.match(log, /Redis does not answer/)
    await redis.revive()
    await until('limits are shared again', async () => (await limitAt(second)) === LIMIT)
    assert.equal(await sharedAt(second), 1)
    assert.match(log, /Redis answers again/)
    assert.ok(!log.includes(redis.password), 'the password of Redis was logged')
  })
}

async function sharedAt({ url }: Service): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^tapedeck_rate_limits_shared (\d)$/m.exec(text)?.[1])
}
