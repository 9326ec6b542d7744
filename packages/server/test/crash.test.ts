import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { needsProc } from './embedded/processes.ts'
import { tempDir } from './embedded/temp-dir.ts'
import { call, followSession } from './support/client.ts'
import { postmasterOf, type RunningService, startProcess } from './support/process.ts'
import {
  type Client,
  listAll,
  planUpload,
  prepareFile,
  steadyClient,
  type Upload,
  type Where,
} from './support/steady-client.ts'

// The service is killed while clients upload. What it acknowledged must be there afterwards; what it did not,
// the clients repeat. When in the flow of acknowledgements a kill comes is drawn from a fixed seed.

const SEED = 20_260_314
const KILLS = 5
const UPLOADS_EACH_KILL = 5
/** Each upload is acknowledged at least four times: created, two parts, completed. */
const moments = fc.noBias(
  fc.record({
    acknowledgements: fc.integer({ min: 1, max: UPLOADS_EACH_KILL * 3 }),
    delayMs: fc.integer({ min: 0, max: 40 }),
  }),
)

test('what was acknowledged survives kill -9 of the service', { skip: needsProc }, async (t) => {
  const dataDir = tempDir(t)
  let service: Promise<RunningService> = startProcess(t, { dataDir })
  const { key = '' } = await service
  const where = async (): Promise<Where> => ({ url: (await service).url, key })
  const uploads = await uploadThroughKills({ where, mayBreak: true }, async () => {
    const killed = await service
    killed.kill('SIGKILL')
    service = killed.exited.then(() => startProcess(t, { dataDir }))
    await service
  })
  await checkEnd(await where(), uploads)
})

test('what was acknowledged survives kill -9 of PostgreSQL, which the service starts again', {
  skip: needsProc,
}, async (t) => {
  const dataDir = tempDir(t)
  const { url, key = '' } = await startProcess(t, { dataDir })
  const where = async (): Promise<Where> => ({ url, key })
  const uploads = await uploadThroughKills({ where, mayBreak: false }, async () => {
    killPostgres(dataDir)
    await untilStatus(url, 503)
    await untilStatus(url, 200)
  })
  await checkEnd(await where(), uploads)
})

test('PostgreSQL comes back where the path of the data directory is too long for a socket', {
  skip: needsProc,
}, async (t) => {
  const dataDir = join(tempDir(t), 'long'.repeat(40))
  const { url } = await startProcess(t, { dataDir })
  killPostgres(dataDir)
  await untilStatus(url, 503)
  await untilStatus(url, 200)
})

type Load = { where: () => Promise<Where>; mayBreak: boolean }

/** Uploads in rounds with one kill in each; returns when every upload is acknowledged to its end. */
async function uploadThroughKills(load: Load, killAndRevive: () => Promise<void>): Promise<Upload[]> {
  const files = [prepareFile(2, 11), prepareFile(3, 12), prepareFile(2, 13)]
  const uploads: Upload[] = []
  const outages = new Map<string, number>()
  using over = endingSignal()
  for (const [round, moment] of fc.sample(moments, { seed: SEED, numRuns: KILLS }).entries()) {
    const { promise: itIsTime, resolve } = Promise.withResolvers<void>()
    let acknowledged = 0
    const client = steadyClient({
      ...load,
      signal: over.signal,
      onAcknowledged: () => {
        if (++acknowledged === moment.acknowledgements) resolve()
      },
      onOutage: (code) => outages.set(code, (outages.get(code) ?? 0) + 1),
    })
    const begun = planRound(files, round)
    uploads.push(...begun)
    const carried = Promise.all(begun.map((upload) => client.carry(upload)))
    carried.catch(() => {}) // heard when it is awaited below
    // A client that fails says more than a kill that never comes.
    await Promise.race([itIsTime, carried])
    await sleep(moment.delayMs)
    await killAndRevive()
    await checkAllKept(client, uploads)
    await carried
  }
  assert.ok(outages.size > 0, 'no client has noticed a kill: the moments are badly chosen')
  return uploads
}

/** Aborts at the end of its block, so that a failed test leaves no client behind. */
function endingSignal(): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  return { signal: controller.signal, [Symbol.dispose]: () => controller.abort() }
}

function planRound(files: Upload['file'][], round: number): Upload[] {
  return Array.from({ length: UPLOADS_EACH_KILL }, (_, index) => {
    const file = files[index % files.length] ?? assert.fail()
    return planUpload(file, `round ${round} upload ${index}`, index % 2 === 0)
  })
}

async function checkAllKept(client: Client, uploads: Upload[]): Promise<void> {
  await Promise.all(uploads.map((upload) => client.checkKept(upload)))
}

/** Every key gives its session again, there is no other session, and none is stuck on its way. */
async function checkEnd(where: Where, uploads: Upload[]): Promise<void> {
  for (const { acknowledged } of uploads) await followSession(where, acknowledged.id ?? '')
  const again = steadyClient({
    where: async () => where,
    mayBreak: false,
    signal: AbortSignal.timeout(60_000),
    onAcknowledged() {},
    onOutage: (code) => assert.fail(code),
  })
  await Promise.all(uploads.map((upload) => again.create(upload)))
  const there = (await listAll(where)).map((session) => session.id)
  const wanted = uploads.map((upload) => upload.acknowledged.id ?? '')
  assert.deepEqual(there.sort(), wanted.sort())
}

function killPostgres(dataDir: string): void {
  process.kill(postmasterOf(dataDir) ?? assert.fail('PostgreSQL does not run'), 'SIGKILL')
}

/** Asks without a pause: between the two states there are 503 and 200, and nothing else. */
async function untilStatus(url: string, wanted: 200 | 503): Promise<void> {
  const deadlineMs = Date.now() + 60_000
  for (let status = 0; status !== wanted; ) {
    assert.ok(Date.now() < deadlineMs, `/readyz has not answered ${wanted} within 60 s`)
    status = (await call(url, 'GET', '/readyz')).status
    assert.ok(status === 200 || status === 503, `/readyz answered ${status}`)
  }
}
