import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ask, start } from './database.ts'
import { childrenOf, keeperOf, kill, needsProc, untilGone } from './processes.ts'
import { tempDir } from './temp-dir.ts'
import { spawnWriter, type Writer } from './writer.ts'

const rounds = 5
const skip = needsProc

describe('a crash', { concurrency: 2 }, () => {
  test('an acknowledged commit survives kill -9 of the parent', { skip }, async (t) => {
    await crashAgainAndAgain(t, ({ pid }) => kill(pid))
  })

  test('an acknowledged commit survives kill -9 of the whole tree', { skip }, async (t) => {
    await crashAgainAndAgain(t, ({ pid, postmaster }) => {
      kill(keeperOf(postmaster), pid, postmaster, ...childrenOf(postmaster))
    })
  })

  test('no postmaster and no keeper stays after kill -9 of the parent', { skip }, async (t) => {
    const { pid, postmaster } = await spawnWriter(t, tempDir(t), 1)
    const keeper = keeperOf(postmaster)
    kill(pid)
    await Promise.all([untilGone(postmaster), untilGone(keeper)])
  })

  test('a killed keeper makes the server shut down in order', { skip }, async (t) => {
    const dataDir = tempDir(t)
    const server = await start(t, dataDir)
    kill(keeperOf(server.pid))
    await server.exited
    assert.match(readFileSync(join(dataDir, 'pg18/server.log'), 'utf8'), /fast shutdown request/)
  })

  test('a keeper ends with its server', { skip }, async (t) => {
    const server = await start(t, tempDir(t))
    const keeper = keeperOf(server.pid)
    await server.stop()
    await untilGone(keeper)
  })
})

async function crashAgainAndAgain(t: TestContext, crash: (writer: Writer) => void): Promise<void> {
  const dataDir = tempDir(t)
  const acknowledged: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const writer = await spawnWriter(t, dataDir, 100)
    crash(writer)
    await writer.ended
    acknowledged.push(...writer.acknowledged)
    const server = await start(t, dataDir)
    await untilGone(writer.postmaster)
    const stored = await ask(server.connection, 'select json_agg(id)::text from written')
    assert.deepEqual(missing(acknowledged, JSON.parse(stored)), [], `round ${round}`)
    await server.stop()
  }
}

function missing(acknowledged: number[], stored: number[]): number[] {
  const found = new Set(stored)
  return acknowledged.filter((id) => !found.has(id))
}
