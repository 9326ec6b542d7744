import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sign } from '../../server/src/webhooks/sign.ts'
import { SignatureError, signWebhook, verifyWebhook } from '../src/index.ts'

const secret = 'whsec_0123456789abcdef'
const event = { id: 'evt_1', object: 'event', type: 'session.failed', created_at: '2026-03-14T09:26:53.589Z' }
const body = JSON.stringify({
  ...event,
  data: { object: { notes: 'Grüße', issues: [{ t_ns: 0 }] } },
}).replace('"t_ns":0', '"t_ns":1773480413589123457')
const nowMs = 1_773_480_413_000

test('what the service signs is verified, and its times lose no digit', async () => {
  const found = await verifyWebhook(body, sign(body, [secret], nowMs), secret, { nowMs })
  assert.equal(found.id, 'evt_1')
  assert.deepEqual(Reflect.get(Object(found.data.object), 'issues'), [{ t_ns: 1773480413589123457n }])
})

test('what signWebhook signs is what the service signs', async () => {
  assert.equal(await signWebhook(body, secret, { timestampS: nowMs / 1000 }), sign(body, [secret], nowMs))
})

test('bytes are verified as they are', async () => {
  const bytes = new TextEncoder().encode(body)
  const header = await signWebhook(bytes, secret, { timestampS: nowMs / 1000 })
  await verifyWebhook(bytes, header, secret, { nowMs })
  await verifyWebhook(bytes.buffer, header, secret, { nowMs })
})

test('any of several signatures is enough, as while a secret is rotated', async () => {
  for (const secrets of [
    ['whsec_old', secret],
    [secret, 'whsec_old'],
  ]) {
    await verifyWebhook(body, sign(body, secrets, nowMs), secret, { nowMs })
  }
})

test('the time may differ by the tolerance, either way, and no more', async () => {
  const header = sign(body, [secret], nowMs)
  for (const apartS of [-300, 300])
    await verifyWebhook(body, header, secret, { nowMs: nowMs + apartS * 1000 })
  for (const apartS of [-301, 301, 3600]) {
    await assertRefused('signature_too_old', body, header, { nowMs: nowMs + apartS * 1000 })
  }
  await verifyWebhook(body, header, secret, { nowMs: nowMs + 3600_000, toleranceS: 3600 })
})

test('another body, another secret and another time are refused', async () => {
  const header = sign(body, [secret], nowMs)
  await assertRefused('signature_mismatch', `${body} `, header)
  await assertRefused('signature_mismatch', body, sign(body, ['whsec_other'], nowMs))
  await assertRefused('signature_mismatch', body, header.replace(/t=\d+/, `t=${nowMs / 1000 + 1}`))
})

test('a header that is not of this form is refused', async () => {
  const v1 = `v1=${'0'.repeat(64)}`
  for (const header of [
    null,
    undefined,
    '',
    't=1',
    v1,
    `t=,${v1}`,
    `t=1e9,${v1}`,
    't=1,v1=xyz',
    `t=1,t=2,${v1}`,
  ]) {
    await assertRefused('signature_malformed', body, header)
  }
})

async function assertRefused(
  code: string,
  of: string,
  header: string | null | undefined,
  options: { nowMs: number } = { nowMs },
): Promise<void> {
  await assert.rejects(verifyWebhook(of, header, secret, options), (error) => {
    assert.ok(error instanceof SignatureError)
    assert.equal(error.code, code)
    return true
  })
}
