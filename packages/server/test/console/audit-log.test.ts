import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AuditEntry, ConsoleList, CreatedApiKey, WebhookEndpoint } from '@tapedeck/contract'
import { operations } from '../../src/http/api.ts'
import { type Browser, invite, join, joinAsOwner } from '../support/browser.ts'
import { call, createSession, recording } from '../support/client.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let owner: Browser

before(async () => {
  service = await startService()
  owner = await joinAsOwner(service)
})
after(() => service.close())

async function newest(): Promise<AuditEntry> {
  const { body } = await owner.call<ConsoleList<AuditEntry>>('GET', '/console/api/audit_log')
  const [entry] = body.data
  if (!entry) throw new Error('the audit log is empty')
  return entry
}

test('every operation that changes something is told of, but for an upload, which is its own trace', () => {
  const table = operations({} as Parameters<typeof operations>[0])
  const silent = table
    .filter(({ permission, change }) => permission === 'write' && !change)
    .map(({ id }) => id)
  assert.deepEqual(silent, ['createSession', 'completeSession'])
  assert.deepEqual(
    table.filter(({ permission, change }) => permission === 'read' && change),
    [],
  )
})

test('a change by an API key names the key', async () => {
  const session = await createSession(service, recording(1))
  await call(service.url, 'DELETE', `/v1/sessions/${session.id}`, { key: service.key })
  const deleted = await newest()
  assert.deepEqual(
    [deleted.action, deleted.target, deleted.detail, deleted.actor.kind],
    ['session.deleted', session.id, 'run.mcap (lab)', 'key'],
  )
  assert.match(deleted.actor.id, /^key_/)
})

test('a change by a member names the member', async () => {
  const { body: key } = await owner.call<CreatedApiKey>('POST', '/console/api/keys', {
    name: 'pipeline',
    mode: 'test',
    write: true,
  })
  const made = await newest()
  assert.deepEqual(
    [made.action, made.target, made.actor.name, made.sandbox],
    ['key.created', key.id, 'ada@example.com', true],
  )
  assert.ok(!JSON.stringify(made).includes(key.key), 'the key itself is told to nobody')
  await owner.call('POST', `/console/api/keys/${key.id}/revoke`, {})
  assert.equal((await newest()).action, 'key.revoked')
})

test('a repeated request is one change', async () => {
  const body = { url: 'http://127.0.0.1:9/hook', events: ['session.processed'] }
  const headers = { 'Idempotency-Key': 'once' }
  const answers = await Promise.all([
    owner.call<WebhookEndpoint>('POST', '/v1/webhook_endpoints', body, headers),
    owner.call<WebhookEndpoint>('POST', '/v1/webhook_endpoints', body, headers),
  ])
  const again = await owner.call<WebhookEndpoint>('POST', '/v1/webhook_endpoints', body, headers)
  assert.equal(again.status, 201)
  assert.ok(answers.some(({ status }) => status === 201))
  const { body: log } = await owner.call<ConsoleList<AuditEntry>>(
    'GET',
    '/console/api/audit_log?action=webhook_endpoint.created',
  )
  assert.deepEqual(
    log.data.map(({ target, detail }) => ({ target, detail })),
    [{ target: again.body.id, detail: body.url }],
  )
})

test('what did not happen is not told', async () => {
  const before = await newest()
  await owner.call('DELETE', `/v1/sessions/ses_${'0'.repeat(36)}`)
  await owner.call('POST', '/v1/webhook_endpoints', { url: 'nonsense', events: [] })
  await owner.call('PATCH', '/console/api/members/usr_nobody', { role: 'viewer' })
  assert.deepEqual(await newest(), before)
})

test('pages of the log hang together', async () => {
  const link = await invite(owner, 'viewer')
  await join(service, link, 'reader@example.com')
  for (let round = 0; round < 110; round++) {
    await owner.call('PUT', `/v1/devices/arm-${round}/calibration`, { channels: [] })
  }
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: { body: ConsoleList<AuditEntry> } = await owner.call(
      'GET',
      `/console/api/audit_log${cursor === '' ? '' : `?cursor=${cursor}`}`,
    )
    seen.push(...page.body.data.map(({ id }) => id))
    cursor = page.body.next_cursor
  }
  const { rows } = await service.database.pool.query('select id from audit_log order by id desc')
  assert.deepEqual(
    seen,
    rows.map(({ id }) => String(id)),
  )
})
