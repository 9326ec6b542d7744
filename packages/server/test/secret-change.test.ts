import assert from 'node:assert/strict'
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { CreatedSession, SessionList, WebhookEndpointWithSecret } from '@tapedeck/contract'
import pino from 'pino'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { joinAsNode } from '../src/db/nodes.ts'
import { decrypt, deriveSecrets, type Keys } from '../src/secrets.ts'
import { sign } from '../src/webhooks/sign.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { undoAfter } from './embedded/undo.ts'
import { type Browser, joinAsOwner, openBrowser, PASSWORD } from './support/browser.ts'
import { type Answer, call, createSession, putPart, recording, urlOf } from './support/client.ts'
import { endWithFile } from './support/ending.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'
import { assertRefused } from './support/refusal.ts'
import { createDatabase } from './support/service.ts'
import { until } from './support/until.ts'
import { createEndpoint, ping, untilEnded } from './support/webhooks.ts'

// The secret is exchanged in steps while nodes of both settings run. What each of them makes is good at the others.

const OLD = 'the secret that all of these nodes had at first'
const NEW = 'the secret that all of these nodes have at last'
/** The steps, as docs/operating.md has them. */
const steps = {
  before: { TAPEDECK_SECRET: OLD },
  waiting: { TAPEDECK_SECRET: OLD, TAPEDECK_SECRET_NEXT: NEW },
  switched: { TAPEDECK_SECRET: NEW, TAPEDECK_SECRET_PREVIOUS: OLD },
  done: { TAPEDECK_SECRET: NEW },
}

const bytes = recording(1)
const log: string[] = []
const ending = endWithFile()
let databaseUrl: string
let dataDir: string
let database: Database
let receiver: Receiver
let key: string
let first: Made
before(async () => {
  databaseUrl = await createDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'tapedeck-data-'))
  ending.after(() => rm(dataDir, { recursive: true }))
  database = openDatabase({ connectionString: databaseUrl }, { maxConnections: 1 })
  ending.after(database.close)
  receiver = await startReceiver(ending)
  const node = await startNode('before')
  for (let index = 0; index < 2; index++) await createSession(node, bytes)
  first = { ...(await make(node)), browser: await joinAsOwner(node) }
  await node.close()
})

type Node = { url: string; key: string; firstLink: string; close(): Promise<void> }

async function startNode(step: keyof typeof steps, env: Record<string, string> = {}): Promise<Node> {
  const config = readConfig({
    TAPEDECK_PORT: '0',
    TAPEDECK_DATA_DIR: dataDir,
    TAPEDECK_RATE_LIMIT: '1000000',
    DATABASE_URL: databaseUrl,
    ...steps[step],
    ...env,
  })
  const logger = pino({ level: 'info' }, { write: (line) => void log.push(line) })
  const app = await startApp(config, logger, { loadLimits: { loopDelayMs: 60_000 } })
  key ??= app.firstKey?.key ?? ''
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= app.close()
    return closing
  }
  ending.after(close)
  return { url: app.addresses.baseUrl, key, firstLink: app.firstLink ?? '', close }
}

/** One of everything that a node signs or encrypts. */
type Made = {
  part: string
  cursor: string
  idempotencyKey: string
  session: CreatedSession
  endpoint: WebhookEndpointWithSecret
  browser: Browser
}

async function make(node: Node): Promise<Made> {
  const { pathname, search } = new URL(urlOf(await createSession(node, bytes)))
  const { body } = await call<SessionList>(node.url, 'GET', '/v1/sessions?limit=1', { key })
  const idempotencyKey = crypto.randomUUID()
  const { body: session } = await createOnce(node, idempotencyKey)
  const endpoint = await createEndpoint(node, receiver.url)
  const browser = openBrowser(node.url)
  await browser.call('POST', '/console/api/sign_in', { email: 'ada@example.com', password: PASSWORD })
  return {
    part: pathname + search,
    cursor: body.next_cursor ?? '',
    idempotencyKey,
    session,
    endpoint,
    browser,
  }
}

function createOnce({ url }: Node, idempotencyKey: string): Promise<Answer<CreatedSession>> {
  const body = { site: 'lab', filename: 'run.mcap', bytes: 1, sha256: '0'.repeat(64) }
  const headers = { 'Idempotency-Key': idempotencyKey }
  return call(url, 'POST', '/v1/sessions', { key, body, headers })
}

async function assertGood(node: Node, made: Made): Promise<void> {
  assert.equal((await putPart(`${node.url}${made.part}`, bytes)).status, 200, 'the upload URL')
  const page = await call(node.url, 'GET', `/v1/sessions?limit=1&cursor=${made.cursor}`, { key })
  assert.equal(page.status, 200, 'the cursor')
  const replayed = await createOnce(node, made.idempotencyKey)
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true')
  assert.deepEqual(replayed.body, made.session)
  const browser = openBrowser(node.url)
  browser.cookies = new Map(made.browser.cookies)
  assert.equal((await browser.call('GET', '/console/api/me')).status, 200, 'the sign-in')
}

/** The receiver gets it, signed with the secret that the endpoint was given when it was made. */
async function assertDelivers(node: Node, { endpoint }: Made): Promise<void> {
  const { status } = await untilEnded(node, await ping(node, endpoint.id))
  assert.equal(status, 'succeeded')
  const { headers, body } = receiver.delivered.at(-1) ?? assert.fail()
  const signature = String(headers['service-signature'])
  const time = Number(/^t=(\d+)/.exec(signature)?.[1])
  assert.equal(signature, sign(body, [endpoint.secret], time * 1000))
}

test('nodes before and after the switch run side by side, and each accepts what the other makes', async () => {
  const waiting = await startNode('waiting', { TAPEDECK_ROLE: 'api' })
  const switched = await startNode('switched')
  const [there, here] = [await make(waiting), await make(switched)]
  await assertGood(waiting, first)
  await assertGood(waiting, here)
  await assertGood(switched, first)
  await assertGood(switched, there)
  for (const made of [first, there, here]) await assertDelivers(switched, made)
  await Promise.all([waiting.close(), switched.close()])

  const back = await startNode('waiting')
  await assertGood(back, here)
  await assertDelivers(back, here)
  await back.close()
})

test('the secrets of endpoints move to the new secret, and then the old one can go', async () => {
  const { webhookSecrets } = deriveSecrets({ current: NEW, next: undefined, previous: undefined })
  const underOld = async () => {
    const { rows } = await database.pool.query('select id, secret from webhook_endpoints')
    return rows.filter(({ id, secret }) => !isReadable(webhookSecrets, secret, id)).length
  }
  assert.ok((await underOld()) > 0)
  const switched = await startNode('switched')
  const needed = async () => {
    const metrics = await (await fetch(`${switched.url}/metrics`)).text()
    return Number(/^tapedeck_previous_secret_needed_seconds (\S+)$/m.exec(metrics)?.[1])
  }
  await until('all have moved', async () => (await underOld()) === 0)
  assert.ok((await needed()) > 7 * 86_400, 'sign-ins last for a week')
  assert.doesNotMatch(log.join(), /nothing needs the previous secret/)
  await switched.close()

  const done = await startNode('done')
  await assertDelivers(done, first)
  assertRefused(await putPart(`${done.url}${first.part}`, bytes), 403, 'signature_invalid')
  const browser = openBrowser(done.url)
  browser.cookies = new Map(first.browser.cookies)
  assert.equal((await browser.call('GET', '/console/api/me')).status, 401)
  await done.close()
})

function isReadable(keys: Keys, sealed: Buffer, context: string): boolean {
  try {
    return decrypt(keys, sealed, context) !== ''
  } catch {
    return false
  }
}

test('it is told when what was signed with the old secret has run out', async () => {
  await database.pool.query('update signing_secrets set needed_until = now()')
  const { url, close } = await startNode('switched')
  await until('it is told', async () => /nothing needs the previous secret/.test(log.join()))
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^tapedeck_previous_secret_needed_seconds 0$/m)
  await close()
})

test('a node whose secret does not go with those of the running ones is refused', async (t) => {
  const connection = { connectionString: await createDatabase() }
  const { codeVersion } = await migrate(connection)
  const { db, close } = openDatabase(connection, { maxConnections: 2 })
  t.after(close)
  const join = (...secrets: [string, ...string[]]) =>
    joinAsNode(db, {
      alone: false,
      servesApi: true,
      codeVersion,
      secrets,
      patienceMs: 0,
      onError: assert.ifError,
    })
  const running = await join('old')
  await assert.rejects(join('new'), /signs with a secret that this node does not accept/)
  await assert.rejects(join('new', 'old'), /give every node the new secret as TAPEDECK_SECRET_NEXT first/)
  const waiting = await join('old', 'new')
  await running.leave()
  const switched = await join('new', 'old')
  await waiting.leave()
  await (await join('new')).leave()
  await switched.leave()
  assert.deepEqual(await db.selectFrom('nodes').select('id').execute(), [], 'who was refused has left')
})

test('the secret of an embedded service is made anew when it is moved away, and the old one is accepted', async (t) => {
  const own = tempDir(t)
  const start = async () => {
    const config = readConfig({ TAPEDECK_PORT: '0', TAPEDECK_DATA_DIR: own })
    const app = await startApp(config, pino({ level: 'silent' }), { loadLimits: { loopDelayMs: 60_000 } })
    undoAfter(t, () => app.close())
    return { ...app, url: app.addresses.baseUrl }
  }
  const earlier = await start()
  const session = await createSession({ url: earlier.url, key: earlier.firstKey?.key ?? '' }, bytes)
  await earlier.close()
  const old = await readFile(join(own, 'secret'), 'utf8')
  await rename(join(own, 'secret'), join(own, 'secret.previous'))
  const later = await start()
  assert.notEqual(await readFile(join(own, 'secret'), 'utf8'), old)
  const { pathname, search } = new URL(urlOf(session))
  assert.equal((await putPart(`${later.url}${pathname}${search}`, bytes)).status, 200)
})
