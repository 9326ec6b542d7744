import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '@tapedeck/contract'
import { childrenOf, kill, needsProc, untilGone } from './embedded/processes.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { undoAfter } from './embedded/undo.ts'
import { call, createSession, recording, sha256 } from './support/client.ts'
import { commands, postmasterOf, type RunningService, run, startProcess } from './support/process.ts'

// The service as an operator meets it: what npm start runs, its signals, its exit codes and its last words.

const skip = needsProc

test('the first start shows a key that works, and no other start shows one', { skip }, async (t) => {
  const dataDir = tempDir(t)
  const first = await startProcess(t, { dataDir, command: commands.npmStart })
  const [, key, url] = /^ {2}curl -H "Authorization: Bearer (\S+)" (\S+)$/m.exec(first.stdout()) ?? []
  assert.equal((await fetch(url ?? '', { headers: { Authorization: `Bearer ${key}` } })).status, 200)
  await stop(first, 'SIGTERM')
  const second = await startProcess(t, { dataDir, command: commands.npmStart })
  assert.doesNotMatch(second.stdout(), /svc_/)
  assert.equal((await call(second.url, 'GET', '/v1/sessions', { key: key ?? '' })).status, 200)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets a part under way finish, ends with 0 and takes PostgreSQL along`, {
    skip,
  }, async (t) => {
    const dataDir = tempDir(t)
    const service = await startProcess(t, { dataDir, command: commands.npmStart })
    const postmaster = postmasterOf(dataDir) ?? assert.fail()
    const where = { url: service.url, key: service.key ?? '' }
    const bytes = recording(1)
    const { id, upload } = await createSession(where, bytes)
    const slow = await beginPart(service.url, upload.parts[0]?.url ?? '', bytes)
    service.kill(signal)
    await untilRefusing(service.url)
    const { status, etag } = await slow.finish()
    assert.equal(status, 200)
    const { code, stderr } = await service.exited
    assert.equal(code, 0, stderr)
    await untilGone(postmaster)
    const again = await startProcess(t, { dataDir })
    const { body } = await call<Session>(again.url, 'GET', `/v1/sessions/${id}`, { key: where.key })
    assert.equal(body.upload?.received[0]?.etag, etag)
  })
}

test('when npm start is killed, service and PostgreSQL end and the next start works', { skip }, async (t) => {
  const dataDir = tempDir(t)
  const started = await startProcess(t, { dataDir, command: commands.npmStart })
  const postmaster = postmasterOf(dataDir) ?? assert.fail()
  const [service] = childrenOf(started.pid)
  kill(started.pid)
  await untilGone(service ?? assert.fail('the script has no child'))
  await untilGone(postmaster)
  await startProcess(t, { dataDir, command: commands.npmStart })
})

test('a service whose output nobody reads any more stops in order', { skip }, async (t) => {
  const dataDir = tempDir(t)
  const service = await startProcess(t, { dataDir })
  service.closeOutput()
  await stop(service, 'SIGTERM')
})

test('a second service on a data directory says that it is in use, and the first goes on', {
  skip,
}, async (t) => {
  const dataDir = tempDir(t)
  const first = await startProcess(t, { dataDir })
  const { code, stderr } = await run(t, { dataDir }).exited
  assert.equal(code, 1)
  assert.match(lastWords(stderr), /^tapedeck: data directory .+ is in use by another Tapedeck .+$/)
  assert.equal((await call(first.url, 'GET', '/readyz')).status, 200)
})

test('wrong settings are refused by name, all of them at once', async (t) => {
  const wrong = {
    TAPEDECK_HOST: 'not a host',
    TAPEDECK_PORT: '70000',
    TAPEDECK_BASE_URL: 'ftp://example.com',
    TAPEDECK_UPLOAD_URL: 'https://user@example.com',
    TAPEDECK_CONSOLE_URL: 'nowhere',
    TAPEDECK_SECRET: 'too short',
    TAPEDECK_RATE_LIMIT: '0',
    TAPEDECK_UPLOAD_TTL_S: '1.5',
    TAPEDECK_CORS_ORIGINS: 'example.com',
    TAPEDECK_LOG_LEVEL: 'loud',
    DATABASE_URL: 'mysql://localhost',
  }
  const { code, stderr, stdout } = await run(t, { dataDir: tempDir(t), env: wrong }).exited
  assert.equal(code, 2)
  assert.equal(stdout, '')
  const named = stderr
    .trim()
    .split('\n')
    .map((line) => /^tapedeck: (\w+) must /.exec(line)?.[1] ?? line)
  assert.deepEqual(named.sort(), Object.keys(wrong).sort())
})

test('a database of the operator needs a secret of the operator', async (t) => {
  const env = { DATABASE_URL: 'postgres://localhost/tapedeck' }
  const { code, stderr } = await run(t, { dataDir: tempDir(t), env }).exited
  assert.equal(code, 2)
  assert.match(stderr, /^tapedeck: TAPEDECK_SECRET is required with DATABASE_URL: .+\n$/)
})

test('a port in use is one clear line, and PostgreSQL is stopped again', { skip }, async (t) => {
  const dataDir = tempDir(t)
  const port = await occupyPort(t)
  const { code, stderr } = await run(t, { dataDir, env: { TAPEDECK_PORT: `${port}` } }).exited
  assert.equal(code, 1)
  assert.match(lastWords(stderr), new RegExp(`^tapedeck: .*in use.*:${port}$`))
  assert.equal(postmasterOf(dataDir), undefined)
})

async function stop(service: RunningService, signal: NodeJS.Signals): Promise<void> {
  service.kill(signal)
  const { code, stderr } = await service.exited
  assert.equal(code, 0, stderr)
}

/** What is said to people; the log is JSON. */
function lastWords(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n')
}

/** Sends half of a part; the service has begun to receive it when this returns. */
async function beginPart(url: string, partUrl: string, bytes: Uint8Array<ArrayBuffer>) {
  const sending = request(partUrl, {
    method: 'PUT',
    headers: { 'x-amz-checksum-sha256': sha256(bytes).toString('base64'), 'Content-Length': bytes.length },
  })
  const answered = once(sending, 'response')
  sending.write(bytes.subarray(0, bytes.length / 2))
  await until('the part is under way', async () =>
    /^tapedeck_uploads_in_flight 1$/m.test(await metricsOf(url)),
  )
  return {
    async finish() {
      sending.end(bytes.subarray(bytes.length / 2))
      const [response] = await answered
      response.resume()
      return { status: Number(response.statusCode), etag: String(response.headers.etag) }
    },
  }
}

async function metricsOf(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

/** The service is stopping: it answers 503, or takes no connection any more. */
async function untilRefusing(url: string): Promise<void> {
  await until('the service refuses new requests', async () => {
    try {
      return (await fetch(`${url}/healthz`)).status === 503
    } catch {
      return true
    }
  })
}

async function until(claim: string, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 8_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadlineMs, `it has not come true that ${claim}`)
    await sleep(10)
  }
}

async function occupyPort(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  undoAfter(t, () => server.close())
  const { port } = server.address() as AddressInfo
  return port
}
