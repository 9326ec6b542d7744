import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { ask, start } from './database.ts'
import { kill } from './processes.ts'
import { tempDir } from './temp-dir.ts'

const isRoot = process.platform === 'linux' && process.getuid?.() === 0
const skip = isRoot ? false : 'only root can change to nobody'
const rootMode = 'nobody'

test('as root with rootMode nobody the server and its files are nobody’s', { skip }, async (t) => {
  const dataDir = tempDir(t)
  const server = await start(t, dataDir, { rootMode })
  const uid = nobodysUid()
  assert.equal(statSync(`/proc/${server.pid}`).uid, uid)
  assert.equal(statSync(join(dataDir, 'pg18')).uid, uid)
  assert.equal(await ask(server.connection, 'select 1'), '1')
})

test('nobody takes over a cluster that was made as root, and recovers it after a crash', {
  skip,
}, async (t) => {
  const dataDir = tempDir(t)
  const first = await start(t, dataDir)
  await ask(first.connection, 'create table kept as select 42 as answer')
  kill(first.pid)
  await first.exited
  const second = await start(t, dataDir, { rootMode })
  assert.equal(await ask(second.connection, 'select answer from kept'), '42')
  kill(second.pid)
  await second.exited
  // Without the mode: the owner of the files decides.
  const third = await start(t, dataDir)
  assert.equal(statSync(`/proc/${third.pid}`).uid, nobodysUid())
  assert.equal(await ask(third.connection, 'select answer from kept'), '42')
})

test('nobody below a private home directory is told what to do', { skip }, async (t) => {
  const home = tempDir(t)
  chmodSync(home, 0o700)
  mkdirSync(join(home, 'data'))
  await assert.rejects(
    startEmbedded(join(home, 'data'), { rootMode }),
    /PostgreSQL does not run as root, .* run Tapedeck as an ordinary user, .* or set DATABASE_URL/,
  )
})

function nobodysUid(): number {
  return Number(/^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1])
}
