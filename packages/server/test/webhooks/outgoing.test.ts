import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { needsProc } from '../embedded/processes.ts'
import { tempDir } from '../embedded/temp-dir.ts'
import { startProcess } from '../support/process.ts'
import { startRawReceiver, startReceiver } from '../support/receiver.ts'
import { createEndpoint, ping, untilEnded, untilTried } from '../support/webhooks.ts'

// What the environment of the service cannot change about its outgoing connections, and the one thing that it can:
// whom it trusts.

const fixture = (name: string) => join(import.meta.dirname, '..', 'fixtures', name)
const tls = {
  key: readFileSync(fixture('self-signed.key'), 'utf8'),
  cert: readFileSync(fixture('self-signed.crt'), 'utf8'),
}

test('deliveries use no proxy of the environment, and verify TLS whatever it says', {
  skip: needsProc,
}, async (t) => {
  const proxy = await startRawReceiver(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
  const plain = await startReceiver(t)
  const secure = await startReceiver(t, { tls })
  const variables = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()])
  const { url, key = '' } = await startProcess(t, {
    dataDir: tempDir(t),
    env: {
      ...Object.fromEntries(variables.map((name) => [name, new URL(proxy.url).origin])),
      NODE_USE_ENV_PROXY: '1',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      NODE_EXTRA_CA_CERTS: fixture('self-signed.crt'),
      TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01',
    },
  })
  const service = { url, key }
  const send = async (target: string) => ping(service, (await createEndpoint(service, target)).id)

  const overHttp = await untilEnded(service, await send(plain.url))
  const overTls = await untilEnded(service, await send(secure.url))
  // The certificate is trusted, but it is not that of this name.
  const wrongName = await untilTried(service, await send(secure.url.replace('127.0.0.1', 'localhost')))

  assert.deepEqual([overHttp.status, overTls.status], ['succeeded', 'succeeded'])
  assert.deepEqual([plain.delivered.length, secure.delivered.length], [1, 1])
  assert.equal(wrongName.attempts[0]?.error, 'tls')
  assert.equal(proxy.requests(), 0)
})
