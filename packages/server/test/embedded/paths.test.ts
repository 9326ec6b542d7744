import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { findRunning, startEmbedded } from '../../src/db/embedded/start.ts'
import { ask, start } from './database.ts'
import { tempDir } from './temp-dir.ts'

describe('the data directory', { concurrency: 2 }, () => {
  test('a start works below a private home directory', async (t) => {
    const home = join(tempDir(t), 'home')
    mkdirSync(home)
    chmodSync(home, 0o700)
    const { connection } = await start(t, join(home, 'data'))
    assert.equal(await ask(connection, 'select 1'), '1')
  })

  test('a path of any characters works', async (t) => {
    const { connection } = await start(t, join(tempDir(t), `a, "b" 'c' $d é`))
    assert.equal(await ask(connection, 'select 1'), '1')
  })

  test('a socket path of 107 bytes stays in the cluster', {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const dataDir = padded(tempDir(t), 107)
    const { connection } = await start(t, dataDir)
    assert.equal(connection.host, join(dataDir, 'pg18'))
    assert.equal(await ask(connection, 'select 1'), '1')
  })

  test('a longer socket path moves to a private directory, which goes with the server', async (t) => {
    const dataDir = padded(tempDir(t), 108)
    const server = await start(t, dataDir)
    const { host } = server.connection
    assert.notEqual(host, join(dataDir, 'pg18'))
    assert.equal(statSync(host).mode & 0o777, 0o700)
    assert.equal(await ask(server.connection, 'select 1'), '1')
    assert.deepEqual(await findRunning(dataDir), server.connection)
    await server.stop()
    assert.ok(!existsSync(host))
  })

  test('what a killed initdb has left is removed', async (t) => {
    const dataDir = tempDir(t)
    for (const name of ['pg18.new', 'pg18.new-abcdef']) {
      mkdirSync(join(dataDir, name, 'base'), { recursive: true })
      writeFileSync(join(dataDir, name, 'PG_VERSION'), '18\n')
    }
    const { connection } = await start(t, dataDir)
    assert.equal(await ask(connection, 'select 1'), '1')
    assert.deepEqual(readdirSync(dataDir), ['pg18'])
  })

  test('a directory in the place of the cluster that is none is not touched', async (t) => {
    const dataDir = tempDir(t)
    mkdirSync(join(dataDir, 'pg18'))
    writeFileSync(join(dataDir, 'pg18/mine'), '')
    await assert.rejects(startEmbedded(dataDir), /pg18 holds files but no PG_VERSION, .* move it away/)
    assert.deepEqual(readdirSync(dataDir), ['pg18'])
  })

  test('findRunning finds a server only while it runs', async (t) => {
    const dataDir = tempDir(t)
    assert.equal(await findRunning(join(dataDir, 'absent')), undefined)
    assert.equal(await findRunning(dataDir), undefined)
    const server = await start(t, dataDir)
    assert.deepEqual(await findRunning(dataDir), server.connection)
    await server.stop()
    assert.equal(await findRunning(dataDir), undefined)
  })
})

function padded(parent: string, socketPathBytes: number): string {
  return join(parent, 'x'.repeat(socketPathBytes - join(parent, '/pg18/.s.PGSQL.5432').length - 1))
}
