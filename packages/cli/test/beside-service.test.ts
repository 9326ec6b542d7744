import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { needsProc } from '../../server/test/embedded/processes.ts'
import { tempDir } from '../../server/test/embedded/temp-dir.ts'
import { call, complete, followSession, recording, uploadAll } from '../../server/test/support/client.ts'
import { postmasterOf, startProcess } from '../../server/test/support/process.ts'
import { tapedeckJson } from './tapedeck.ts'

// The command on the data directory of a service that runs: it uses the service's PostgreSQL and leaves it alone.

const skip = needsProc

test('a key works as soon as it is made, and no longer than until its revocation returns', {
  skip,
}, async (t) => {
  const { url, dataDir } = await start(t)
  await tapedeckJson(dataDir, 'orgs', 'create', 'acme')
  const { key, id } = await tapedeckJson(dataDir, 'keys', 'create', '--org', 'acme', '--permissions', 'read')
  assert.equal((await call(url, 'GET', '/v1/sessions', { key })).status, 200)
  assert.equal((await call(url, 'POST', '/v1/sessions', { key, body: {} })).status, 403)
  await tapedeckJson(dataDir, 'keys', 'revoke', id)
  assert.equal((await call(url, 'GET', '/v1/sessions', { key })).status, 401)
})

test('while processing is paused a completed session rests in uploaded, and goes on after', {
  skip,
}, async (t) => {
  const { url, key, dataDir } = await start(t)
  await tapedeckJson(dataDir, 'processing', 'pause')
  const { session, parts } = await uploadAll({ url, key }, recording(1))
  const { body } = await complete({ url, key }, session.id, parts)
  assert.equal(body.status, 'uploaded')
  assert.equal((await tapedeckJson(dataDir, 'processing', 'resume')).waiting, 1)
  await followSession({ url, key }, session.id)
})

test('a command leaves the PostgreSQL of the service running', { skip }, async (t) => {
  const { url, key, dataDir } = await start(t)
  const postmaster = postmasterOf(dataDir)
  await Promise.all([tapedeckJson(dataDir, 'orgs', 'list'), tapedeckJson(dataDir, 'keys', 'list')])
  assert.equal(postmasterOf(dataDir), postmaster)
  assert.equal((await call(url, 'GET', '/v1/sessions', { key })).status, 200)
})

async function start(t: TestContext) {
  const dataDir = tempDir(t)
  const { url, key = '' } = await startProcess(t, { dataDir })
  return { url, key, dataDir }
}
