import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { WebhookEndpointWithSecret } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Db } from '../../src/db/database.ts'
import { call } from '../support/client.ts'
import { deadUrl, startReceiver } from '../support/receiver.ts'
import { startService } from '../support/service.ts'
import { createEndpoint, ping, rotateSecret, untilEnded, untilTried } from '../support/webhooks.ts'

// Secrets of endpoints as whoever reads a backup, a log or a list of processes would look for them.

test('no secret stands in the database, in any table, in any form', async (t) => {
  const { service, secrets } = await liveThrough(t)
  const rows = await everyRow(service.database.db)
  assert.ok(
    rows.some((row) => row.includes('webhook-secrets-marker')),
    'the rows of endpoints were read',
  )
  for (const secret of secrets)
    for (const form of formsOf(secret)) {
      const found = rows.find((row) => row.includes(form))
      assert.equal(found, undefined)
    }
})

test('no secret stands in the log, at any level', async (t) => {
  const { secrets, log } = await liveThrough(t)
  assert.ok(
    log.some((line) => line.includes('/rotate_secret')),
    'requests are in the log',
  )
  const text = log.join('\n')
  for (const secret of secrets)
    for (const form of formsOf(secret)) assert.ok(!text.includes(form), 'a secret was logged')
})

test('the same secret is never stored twice as the same bytes', async (t) => {
  const { service } = await liveThrough(t)
  const { rows } = await sql<{ secret: Buffer }>`select secret from webhook_endpoints
    union all select previous_secret from webhook_endpoints where previous_secret is not null`.execute(
    service.database.db,
  )
  assert.equal(new Set(rows.map(({ secret }) => secret.toString('hex'))).size, rows.length)
})

/** All that a secret goes through: made, repeated, rotated, used, failing to be used. */
async function liveThrough(t: TestContext) {
  const log: string[] = []
  const service = await startService({
    logTo: { write: (line) => void log.push(line) },
    env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' },
  })
  t.after(() => service.close())
  const receiver = await startReceiver(t)
  const secrets: string[] = []

  const endpoint = await createEndpoint(service, receiver.url, { description: 'webhook-secrets-marker' })
  const rotated = await rotateSecret(service, endpoint.id)
  await untilEnded(service, await ping(service, endpoint.id))
  const dead = await createEndpoint(service, await deadUrl())
  await untilTried(service, await ping(service, dead.id))
  const create = (headers = {}) =>
    call<WebhookEndpointWithSecret>(service.url, 'POST', '/v1/webhook_endpoints', {
      key: service.key,
      body: { url: receiver.url, events: ['session.failed'] },
      headers,
    })
  const once = await create({ 'Idempotency-Key': 'once' })
  const again = await create({ 'Idempotency-Key': 'once' })
  assert.equal(again.body.secret, once.body.secret)
  secrets.push(endpoint.secret, rotated.secret, dead.secret, once.body.secret)
  return { service, secrets, log }
}

/** As it is, without its prefix, and as the bytes that PostgreSQL would show of either. */
function formsOf(secret: string): string[] {
  const bare = secret.replace(/^whsec_/, '')
  const texts = [bare, Buffer.from(bare, 'base64url').toString('base64')]
  const bytes = [Buffer.from(bare), Buffer.from(bare, 'base64url')]
  return [...texts, ...bytes.flatMap((form) => [form.toString('hex'), form.toString('base64')])]
}

async function everyRow(db: Db): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`.execute(db)
  const all: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.raw(name)} t`.execute(db)
    all.push(...rows.map(({ row }) => row))
  }
  return all
}
