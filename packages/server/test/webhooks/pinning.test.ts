import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { type TestContext, test } from 'node:test'
import { startReceiver } from '../support/receiver.ts'
import { startService } from '../support/service.ts'
import { createEndpoint, ping, untilTried } from '../support/webhooks.ts'

// Between the look at a name and the connection there is no second look that could find something else.

test('a connection is made by one look at the name', async (t) => {
  const { service, looks, endpointId, receiver } = await startWithName(t)
  await untilTried(service, await ping(service, endpointId))
  assert.equal(looks(), 1)
  assert.equal(receiver.delivered.length, 1)
  assert.match(receiver.delivered[0]?.headers.host ?? '', /^receiver\.test:\d+$/)
})

test('a connection that is made anew looks at the name anew', async (t) => {
  const { service, looks, endpointId, receiver } = await startWithName(t)
  await untilTried(service, await ping(service, endpointId))
  const { attempts } = await untilTried(service, await ping(service, endpointId))
  assert.equal(looks(), 2)
  assert.equal(attempts[0]?.error, 'dns')
  assert.equal(receiver.delivered.length, 1)
})

/** A name that leads to the receiver at the first look and does not exist at any other. */
async function startWithName(t: TestContext) {
  const receiver = await startReceiver(t, {
    answer: (response) => response.setHeader('Connection', 'close').end(),
  })
  let looks = 0
  const resolve = async (host: string): Promise<LookupAddress[]> => {
    assert.equal(host, 'receiver.test')
    if (++looks > 1) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const service = await startService({ resolve })
  t.after(() => service.close())
  const { id } = await createEndpoint(service, receiver.url.replace('127.0.0.1', 'receiver.test'))
  return { service, receiver, endpointId: id, looks: () => looks }
}
