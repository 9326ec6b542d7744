import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { createSession, urlOf } from './support/client.ts'
import { startService } from './support/service.ts'

test('a part under way when the service stops is kept, and its connection is not waited for', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const bytes = randomBytes(1_000_000)
  const session = await createSession(service, bytes)
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const part = request(urlOf(session), {
    agent,
    method: 'PUT',
    headers: {
      'Content-Length': bytes.length,
      'x-amz-checksum-sha256': hash('sha256', bytes, 'base64'),
      Expect: '100-continue',
    },
  })
  part.flushHeaders()
  await once(part, 'continue')
  await new Promise((resolve) => part.write(bytes.subarray(0, 1000), resolve))
  const { socket } = part
  const restarted = service.restart()
  part.end(bytes.subarray(1000))
  const [answer] = (await once(part, 'response')) as [IncomingMessage]
  answer.resume()
  assert.equal(answer.statusCode, 200)
  // The agent would keep it for ever: it is the service that ends it, and does not wait until it cuts what is left.
  const answeredMs = performance.now()
  if (socket && !socket.destroyed) await once(socket, 'close')
  await restarted
  assert.ok(performance.now() - answeredMs < 9_000, 'before connections are cut')
})
