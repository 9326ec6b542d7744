import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { complete, recording, uploadAll } from './support/client.ts'
import { request } from './support/raw-http.ts'
import { type Service, startService } from './support/service.ts'

// Many clients, and proxies before them, read the answer only when they have sent the whole body. If the
// service closed the connection with its refusal, they would see a reset and no reason.

const BODY_BYTES = 8_000_000
const PIECE = Buffer.alloc(64 * 2 ** 10)

let service: Service
let closedPart: string
before(async () => {
  service = await startService()
  const { session, parts } = await uploadAll(service, recording(2))
  await complete(service, session.id, parts)
  closedPart = session.upload.parts[0]?.url.slice(service.url.length) ?? ''
})
after(() => service.close())

for (const connection of ['keep-alive', 'close']) {
  test(`a part refused under way is sent to its end and then told why (Connection: ${connection})`, async () => {
    assert.match(await sendAllThenRead('PUT', closedPart, connection), /^HTTP\/1\.1 409 .*"upload_closed"/s)
  })

  test(`a call without a key is sent to its end and then told why (Connection: ${connection})`, async () => {
    assert.match(
      await sendAllThenRead('POST', '/v1/sessions', connection),
      /^HTTP\/1\.1 401 .*"key_missing"/s,
    )
  })

  test(`a body too large is sent to its end and then told why (Connection: ${connection})`, async () => {
    const answer = await sendAllThenRead('POST', '/v1/sessions', connection, [
      ['Authorization', `Bearer ${service.key}`],
      ['Content-Type', 'application/json'],
    ])
    assert.match(answer, /^HTTP\/1\.1 400 .*"body_too_large"/s)
  })
}

async function sendAllThenRead(
  method: string,
  target: string,
  connection: string,
  headers: [string, string][] = [],
): Promise<string> {
  const { hostname, port } = new URL(service.url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  try {
    const all: [string, string][] = [
      ...headers,
      ['Connection', connection],
      ['Content-Length', `${BODY_BYTES}`],
    ]
    await write(socket, request(method, target, all))
    // The refusal is here, unread: from now on the service could think that it is done.
    await once(socket, 'readable')
    for (let sent = 0; sent < BODY_BYTES; sent += PIECE.length) {
      await write(socket, PIECE.subarray(0, BODY_BYTES - sent))
    }
    return String(socket.read())
  } finally {
    socket.destroy()
  }
}

function write(socket: Socket, bytes: Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('error', reject)
  socket.write(bytes, (error) => (error ? reject(error) : resolve()))
  return promise.finally(() => socket.off('error', reject))
}
