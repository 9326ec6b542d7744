import assert from 'node:assert/strict'
import { statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { ask, start } from './database.ts'
import { tempDir } from './temp-dir.ts'

describe('starting', { concurrency: 2 }, () => {
  test('the second start finds what the first has stored', async (t) => {
    const dataDir = join(tempDir(t), 'not/yet/there')
    const first = await start(t, dataDir)
    await ask(first.connection, 'create table kept as select 42 as answer')
    await first.stop()
    const second = await start(t, dataDir)
    assert.equal(await ask(second.connection, 'select answer from kept'), '42')
  })

  test('the server is durable, private, in UTF-8 and in UTC', async (t) => {
    const { connection } = await start(t, tempDir(t))
    const expected = {
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      data_checksums: 'on',
      listen_addresses: '',
      unix_socket_permissions: '0700',
      server_encoding: 'UTF8',
      timezone: 'UTC',
      log_timezone: 'UTC',
      io_method: 'sync',
      jit: 'off',
      max_connections: '100',
    }
    for (const [setting, value] of Object.entries(expected)) {
      assert.equal(await ask(connection, `show ${setting}`), value, setting)
    }
    const locale = await ask(
      connection,
      `select format('%s %s', datlocprovider, datlocale) from pg_database where datname = 'postgres'`,
    )
    assert.equal(locale, 'b C.UTF-8')
    assert.equal(statSync(connection.host).mode & 0o777, 0o700)
  })

  test('a TCP port is opened only on request', async (t) => {
    const listenTcpPort = 20_000 + (process.pid % 20_000)
    const server = await start(t, tempDir(t), { listenTcpPort })
    assert.equal(await ask(server.connection, 'show listen_addresses'), '127.0.0.1')
    assert.equal(await ask({ ...server.connection, host: '127.0.0.1' }, 'select 1'), '1')
  })

  test('a failed start tells what PostgreSQL has logged', async (t) => {
    const dataDir = tempDir(t)
    await (await start(t, dataDir)).stop()
    writeFileSync(join(dataDir, 'pg18/postgresql.auto.conf'), 'no_such_setting = 1\n')
    await assert.rejects(
      startEmbedded(dataDir),
      /ended at its start with 1 in .*; its log says: .*no_such_setting/s,
    )
  })

  test('a log over 16 MiB is moved aside at the start', async (t) => {
    const dataDir = tempDir(t)
    await (await start(t, dataDir)).stop()
    const log = join(dataDir, 'pg18/server.log')
    truncateSync(log, 16 * 1024 * 1024 + 1)
    await start(t, dataDir)
    assert.equal(statSync(`${log}.1`).size, 16 * 1024 * 1024 + 1)
    assert.ok(statSync(log).size < 10_000)
  })
})
