import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { ask, connect, start } from './database.ts'
import { childrenOf, kill, needsProc, untilGone, untilZombie } from './processes.ts'
import { tempDir } from './temp-dir.ts'
import { undoAfter } from './undo.ts'

const skip = needsProc

describe('a lock that is left', { concurrency: 2 }, () => {
  test('a pid in the lock that another program has now is no hindrance', { skip }, async (t) => {
    const dataDir = await crashed(t)
    const other = spawn('sleep', ['60'])
    undoAfter(t, () => other.kill())
    nameInLock(dataDir, other.pid)
    const { connection } = await start(t, dataDir)
    assert.equal(await ask(connection, 'select 1'), '1')
  })

  test('a zombie with the pid in the lock is no hindrance', { skip }, async (t) => {
    const dataDir = await crashed(t)
    // The shell starts a child and becomes a program that does not know of it, so nobody reaps the child.
    const neglectful = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    undoAfter(t, () => neglectful.kill())
    const [told] = await once(neglectful.stdout, 'data')
    await untilZombie(Number(told))
    nameInLock(dataDir, Number(told))
    const { connection } = await start(t, dataDir)
    assert.equal(await ask(connection, 'select 1'), '1')
  })

  test('a lock that a power cut has left empty is no hindrance', { skip }, async (t) => {
    const dataDir = await crashed(t)
    const lock = join(dataDir, 'pg18/postmaster.pid')
    writeFileSync(lock, '')
    utimesSync(lock, 1, 1)
    const { connection } = await start(t, dataDir)
    assert.equal(await ask(connection, 'select 1'), '1')
  })

  test('a session that outlives its postmaster still holds the directory', { skip }, async (t) => {
    const dataDir = tempDir(t)
    const server = await start(t, dataDir)
    const client = await connect(server.connection)
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const session = rows[0]?.pid ?? 0
    process.kill(session, 'SIGSTOP')
    kill(server.pid)
    await server.exited
    await assert.rejects(startEmbedded(dataDir, { waitMs: 200 }), /is in use by another Tapedeck/)
    kill(session)
    const { connection } = await start(t, dataDir)
    assert.equal(await ask(connection, 'select 1'), '1')
  })
})

/** A data directory whose server was killed, so that its locks are still there. */
async function crashed(t: TestContext): Promise<string> {
  const dataDir = tempDir(t)
  const server = await start(t, dataDir)
  const children = childrenOf(server.pid)
  kill(server.pid)
  await server.exited
  await Promise.all(children.map(untilGone))
  return dataDir
}

function nameInLock(dataDir: string, pid: number | undefined): void {
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    const file = join(dataDir, 'pg18', name)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, `${pid}`))
  }
}
