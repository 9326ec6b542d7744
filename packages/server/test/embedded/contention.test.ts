import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded/start.ts'
import { ask, start } from './database.ts'
import { tempDir } from './temp-dir.ts'
import { undoAfter } from './undo.ts'

test('of two first starts at once one wins and the other is told who holds the directory', async (t) => {
  const dataDir = tempDir(t)
  const winner = await startTwice(dataDir)
  assert.equal(await ask(winner.connection, 'select 1'), '1')
  assert.deepEqual(readdirSync(dataDir), ['pg18'])
  await winner.stop()
})

test('of two starts at once on a cluster one wins', async (t) => {
  const dataDir = tempDir(t)
  await (await start(t, dataDir)).stop()
  for (let round = 0; round < 5; round++) await (await startTwice(dataDir)).stop()
})

test('of two starts at once on a stale lock with a reused pid one wins, and keeps its lock', async (t) => {
  const dataDir = tempDir(t)
  const lock = join(dataDir, 'pg18/postmaster.pid')
  const other = spawn('sleep', ['60'])
  undoAfter(t, () => other.kill())
  await (await start(t, dataDir)).stop()
  for (let round = 0; round < 5; round++) {
    writeFileSync(lock, `${other.pid}\n${dataDir}/pg18\n1700000000\n5432\n\n\n`)
    const winner = await startTwice(dataDir)
    assert.equal(pidIn(lock), winner.pid)
    await winner.stop()
  }
})

test('a start waits for a server on its way down, and says so once', async (t) => {
  const dataDir = tempDir(t)
  const first = await start(t, dataDir)
  const waitedFor: (number | undefined)[] = []
  const onWait = (pid: number | undefined) => {
    waitedFor.push(pid)
    void first.stop()
  }
  const second = await start(t, dataDir, { onWait })
  assert.deepEqual(waitedFor, [first.pid])
  assert.equal(await ask(second.connection, 'select 1'), '1')
})

test('a server in another container on the same volume holds the directory', async (t) => {
  const dataDir = tempDir(t)
  await start(t, dataDir)
  // From another container its pid and its shared memory are not to be seen, only its socket.
  const lock = join(dataDir, 'pg18/postmaster.pid')
  const lines = readFileSync(lock, 'utf8').split('\n')
  lines[0] = '99999999'
  lines[6] = ''
  writeFileSync(lock, lines.join('\n'))
  await assert.rejects(
    startEmbedded(dataDir, { waitMs: 100 }),
    /in use by another Tapedeck \(postmaster 99999999\)/,
  )
})

test('a server that loses its lock while it starts is started anew', { timeout: 30_000 }, async (t) => {
  const dataDir = tempDir(t)
  const lock = join(dataDir, 'pg18/postmaster.pid')
  await (await start(t, dataDir)).stop()
  const starting = start(t, dataDir)
  while (!existsSync(lock)) await setImmediate()
  rmSync(lock)
  const server = await starting
  assert.equal(pidIn(lock), server.pid)
})

function pidIn(lock: string): number {
  return Number.parseInt(readFileSync(lock, 'utf8'), 10)
}

/** Returns the server of the start that wins. */
async function startTwice(dataDir: string): Promise<EmbeddedPostgres> {
  const begin = () => startEmbedded(dataDir, { waitMs: 200 })
  const outcomes = await Promise.allSettled([begin(), begin()])
  const [winner, ...more] = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value] : [],
  )
  const [reason] = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [String(outcome.reason)] : [],
  )
  assert.ok(winner, reason)
  assert.equal(more.length, 0, 'both have started')
  assert.equal(
    reason,
    `Error: data directory ${dataDir} is in use by another Tapedeck (postmaster ${winner.pid}); ` +
      'stop it or set TAPEDECK_DATA_DIR to another directory',
  )
  return winner
}
