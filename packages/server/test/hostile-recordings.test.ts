import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Session } from '@tapedeck/contract'
import { hostile } from '../../analysis/test/support/hostile.ts'
import { damaged } from '../../formats/test/support/damage.ts'
import { setPaused } from '../src/operate/gate.ts'
import { complete, followSession, uploadAll } from './support/client.ts'
import { partFiles } from './support/disk.ts'
import { type Service, startService } from './support/service.ts'

// What the analysis withstands, through the whole service: each file ends in an answer, and the service answers on.

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

const fixtures = join(import.meta.dirname, '../../formats/fixtures')

async function process(to: Service, bytes: Uint8Array, filename: string): Promise<Session> {
  const { session, parts } = await uploadAll(to, Uint8Array.from(bytes), { filename })
  assert.equal((await complete(to, session.id, parts)).status, 200)
  return followSession(to, session.id)
}

for (const name of [
  'chunks of MCAP that unpack to 250 MB each',
  'a definition of 2^60 empty leaves, ROS 1',
  'channels of MCAP that all want one name',
  'a topic of MCAP with control characters',
  'a topic of a bag with control characters',
  'datasets with control characters',
  'all extreme times of MCAP in one file',
  'MCAP that is at 18446744073709551615 all the time',
]) {
  test(name, async () => {
    const { filename, make } = hostile[name] ?? assert.fail(`nothing is called ${name}`)
    const session = await process(service, await make(), filename)
    assert.ok(['processed', 'failed'].includes(session.status))
    assert.ok(session.status === 'processed' || session.issues.length > 0)
    assert.ok(
      !session.issues.some(({ code }) => code === 'processing_crashed'),
      JSON.stringify(session.issues),
    )
  })
}

test('damaged files of several formats are processed, or fail with a reason', async () => {
  for (const name of [
    'indexed-zstd.mcap',
    'indexed.bag',
    'version-4.db3',
    'flight.ulg',
    'film.mp4',
    'walk.gpx',
  ]) {
    const variants = [...damaged(new Uint8Array(readFileSync(join(fixtures, name))), 7)]
    for (const { bytes, name: damage } of variants.filter((_, n) => n % 20 === 3)) {
      const session = await process(service, bytes, name)
      const reasons = session.issues.filter(({ severity }) => severity === 'error')
      assert.ok(session.status === 'processed' || reasons.length > 0, `${name}, ${damage}`)
      assert.ok(!reasons.some(({ code }) => code === 'processing_crashed'), `${name}, ${damage}`)
    }
  }
})

test('a recording that takes more memory than it may have fails at once, and says so', async () => {
  const small = await startService({ scanLimits: { memoryBytes: 200 * 2 ** 20 } })
  try {
    const { filename, make } = hostile['chunks of MCAP that unpack to 250 MB each'] ?? assert.fail()
    const session = await process(small, await make(), filename)
    assert.deepEqual(
      [session.status, session.issues.map(({ code }) => code)],
      ['failed', ['processing_limit']],
    )
    assert.match(session.issues[0]?.detail ?? '', /200 MiB of memory/)
  } finally {
    await small.close()
  }
})

test('a recording that fills the heap fails at once too', async () => {
  const small = await startService({ scanLimits: { memoryBytes: 90 * 2 ** 20 } })
  try {
    const { filename, make } = hostile['channels of MCAP that all want one name'] ?? assert.fail()
    const session = await process(small, await make(), filename)
    assert.deepEqual(
      [session.status, session.issues.map(({ code }) => code)],
      ['failed', ['processing_limit']],
    )
  } finally {
    await small.close()
  }
})

test('a recording that takes longer than it may fails at once, and says so', async () => {
  const hasty = await startService({ scanLimits: { timeMs: 1 } })
  try {
    const session = await process(hasty, new Uint8Array(readFileSync(join(fixtures, 'walk.gpx'))), 'walk.gpx')
    assert.deepEqual(
      [session.status, session.issues.map(({ code }) => code)],
      ['failed', ['processing_limit']],
    )
    assert.match(session.issues[0]?.detail ?? '', /0\.001 s/)
  } finally {
    await hasty.close()
  }
})

test('a scan that dies is tried again, and given up with an issue after the last try', async () => {
  const log: string[] = []
  const broken = await startService({ logTo: { write: (line: string) => void log.push(line) } })
  try {
    const bytes = new Uint8Array(readFileSync(join(fixtures, 'walk.gpx')))
    const { session, parts } = await uploadAll(broken, bytes, { filename: 'walk.gpx' })
    await setPaused(broken.database.db, true)
    assert.equal((await complete(broken, session.id, parts)).status, 200)
    // What is no fault of the recording: its file can be opened and not read.
    const [file = ''] = await partFiles(broken.dataDir, session.id, 1)
    await rm(join(broken.dataDir, 'recordings', file))
    await mkdir(join(broken.dataDir, 'recordings', file))
    await setPaused(broken.database.db, false)
    const { status, issues } = await followSession(broken, session.id)
    assert.deepEqual([status, issues.map(({ code }) => code)], ['failed', ['processing_crashed']])
    const tries = log.filter((line) => line.includes('EISDIR') && line.includes('background work failed'))
    assert.equal(tries.length, 3)
  } finally {
    await broken.close()
  }
})

test('a recording whose bytes are gone from the disk says so at once, and the log tells the operator', async () => {
  const log: string[] = []
  const robbed = await startService({ logTo: { write: (line: string) => void log.push(line) } })
  try {
    const bytes = new Uint8Array(readFileSync(join(fixtures, 'walk.gpx')))
    const { session, parts } = await uploadAll(robbed, bytes, { filename: 'walk.gpx' })
    await setPaused(robbed.database.db, true)
    assert.equal((await complete(robbed, session.id, parts)).status, 200)
    await rm(join(robbed.dataDir, 'recordings'), { recursive: true })
    await setPaused(robbed.database.db, false)
    const { status, issues } = await followSession(robbed, session.id)
    assert.deepEqual([status, issues.map(({ code }) => code)], ['failed', ['recording_lost']])
    assert.equal(log.filter((line) => line.includes('an acknowledged part is lost')).length, 1)
  } finally {
    await robbed.close()
  }
})
