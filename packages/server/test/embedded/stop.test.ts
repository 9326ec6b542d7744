import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../src/db/embedded/start.ts'
import { connect, start } from './database.ts'
import { kill } from './processes.ts'
import { tempDir } from './temp-dir.ts'

describe('stopping', { concurrency: 2 }, () => {
  test('a smart stop lets another client finish', async (t) => {
    const server = await start(t, tempDir(t))
    const client = await connect(server.connection)
    const stopped = server.stop('smart')
    await untilRefused(server.connection)
    assert.equal(await Promise.race([stopped, client.query('select 1').then(() => 'served')]), 'served')
    await client.end()
    await stopped
  })

  test('a fast stop ends the sessions of other clients', async (t) => {
    const server = await start(t, tempDir(t))
    const client = await connect(server.connection)
    const sleeping = client.query('select pg_sleep(60)')
    await Promise.all([assert.rejects(sleeping, /terminat|connection/i), server.stop('fast')])
  })

  test('exited resolves when the postmaster is killed', async (t) => {
    const server = await start(t, tempDir(t))
    kill(server.pid)
    await server.exited
    await server.stop()
  })
})

async function untilRefused(connection: Connection): Promise<void> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline) {
    try {
      await (await connect(connection)).end()
    } catch {
      return
    }
    await sleep(10)
  }
  throw new Error('the server still accepts clients 10 s after it was told to stop')
}
