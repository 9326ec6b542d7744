import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createOrganisation } from '../../server/src/access/organisations.ts'
import { systemClock } from '../../server/src/clock.ts'
import { openDatabase } from '../../server/src/db/database.ts'
import { migrate } from '../../server/src/db/migrate.ts'
import { newId } from '../../server/src/ids.ts'
import { openStorage } from '../../server/src/storage/open.ts'
import { tempDir } from '../../server/test/embedded/temp-dir.ts'
import { undoAfter } from '../../server/test/embedded/undo.ts'
import { seedSession } from '../../server/test/support/seed.ts'
import { createDatabase } from '../../server/test/support/service.ts'
import { tapedeck } from './tapedeck.ts'

test('collect shows what would go, removes what no row names, and what is unknown only when told', async (t) => {
  const { run, names, object } = await openData(t)
  const would = await run('collect', '--dry-run')
  assert.deepEqual(would.stdout.trim().split('\n').sort(), [
    '3 objects: 1 would be removed, 1 unknown ones stay',
    `left over  ${object.leftOver}`,
    `unknown    ${object.unknown}`,
  ])
  assert.equal((await names()).length, 3)
  const told = await run('collect', '--json')
  assert.deepEqual(
    told.stdout
      .trim()
      .split('\n')
      .sort()
      .map((line) => JSON.parse(line)),
    [
      { dry_run: false, seen: 3, left_over: 1, deleted: 0, unknown: 1 },
      ...[
        { object: object.leftOver, why: 'left over' },
        { object: object.unknown, why: 'unknown' },
      ].sort((one, other) => (one.object < other.object ? -1 : 1)),
    ],
  )
  assert.deepEqual(await names(), [object.named, object.unknown].sort())
  assert.match(
    (await run('collect', '--unknown')).stdout,
    /^2 objects: 1 were removed, 0 unknown ones stay$/m,
  )
  assert.deepEqual(await names(), [object.named])
})

test('collect takes no arguments, and tells a wrong setting', async (t) => {
  assert.equal((await tapedeck(tempDir(t), ['collect', 'all'])).code, 2)
  const { code, stderr } = await tapedeck(tempDir(t), ['collect'], { TAPEDECK_STORAGE: 's3' })
  assert.equal(code, 2)
  assert.match(stderr, /S3_BUCKET is required/)
})

/** Three objects: one that a row names, one that none does, and one of a session that was never here. */
async function openData(t: TestContext) {
  const dataDir = tempDir(t)
  const databaseUrl = await createDatabase()
  await migrate({ connectionString: databaseUrl })
  const { db, close } = openDatabase({ connectionString: databaseUrl }, { maxConnections: 1 })
  undoAfter(t, close)
  await createOrganisation(db, systemClock, 'default')
  const storage = await openStorage({ kind: 'disk', root: join(dataDir, 'recordings') })
  const sha256 = createHash('sha256').update('x').digest()
  const keep = async (sessionId: string) => {
    const writer = await storage.openPart({ sessionId, number: 1, bytes: 1, sha256: sha256.toString('hex') })
    await writer.write([Buffer.from('x')])
    return writer.keep()
  }
  const sessionId = await seedSession(db, 'default', { status: 'processed' })
  const object = {
    named: await keep(sessionId),
    leftOver: await keep(sessionId),
    unknown: await keep(newId('ses', Date.now())),
  }
  await utimes(join(dataDir, 'recordings', object.unknown), new Date(0), new Date(0))
  const row = { session_id: sessionId, number: 1, bytes: 1, sha256, object: object.named }
  await db.insertInto('parts').values(row).execute()
  return {
    object,
    run: (...args: string[]) => tapedeck(dataDir, args, { DATABASE_URL: databaseUrl }),
    names: async () => {
      const pages = await Array.fromAsync(storage.walk(''))
      return pages.flatMap(({ objects }) => objects.map(({ name }) => name)).sort()
    },
  }
}
