import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from './support/client.ts'
import { startService } from './support/service.ts'

/** Statuses of requests without a key that claim to come from these addresses, with a budget of one for each. */
async function statusesFrom(addresses: string[], env: Record<string, string>): Promise<number[]> {
  const service = await startService({ env: { ...env, TAPEDECK_RATE_LIMIT: '1' } })
  const statuses: number[] = []
  try {
    for (const address of addresses) {
      const headers = { 'X-Forwarded-For': address }
      statuses.push((await call(service.url, 'GET', '/v1/sessions', { headers })).status)
    }
  } finally {
    await service.close()
  }
  return statuses
}

test('a trusted proxy says where a request comes from, and each address has a budget of its own', async () => {
  const env = { TAPEDECK_TRUSTED_PROXIES: '127.0.0.0/8' }
  const claimed = ['198.51.100.1', '198.51.100.2', '198.51.100.1', '198.51.100.9, 198.51.100.2']
  assert.deepEqual(await statusesFrom(claimed, env), [401, 401, 429, 429])
})

test('nobody else is believed', async () => {
  const env = { TAPEDECK_TRUSTED_PROXIES: '10.0.0.0/8' }
  assert.deepEqual(await statusesFrom(['198.51.100.1', '198.51.100.2'], env), [401, 429])
})
