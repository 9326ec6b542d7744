import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { needsProc } from './embedded/processes.ts'
import { checkAftermath } from './support/cluster/aftermath.ts'
import { openCluster } from './support/cluster/cluster.ts'
import { type PostgresServer, startPostgresServer } from './support/cluster/postgres.ts'
import { type StoreServer, startStoreServer } from './support/cluster/store.ts'
import { acknowledgedOf, openLoad } from './support/cluster/uploads.ts'
import { endWithFile } from './support/ending.ts'
import { startReceiver } from './support/receiver.ts'
import type { Upload } from './support/steady-client.ts'
import { createEndpoint } from './support/webhooks.ts'

// Clients upload through two API nodes, two workers process, and one after the other everything is killed once: each
// node, PostgreSQL, the store. Who comes when, and at which acknowledgement, is drawn from a fixed seed.

const SEED = 20_260_314
const UPLOADS_EACH_KILL = 4
const names = ['first API node', 'second API node', 'first worker', 'second worker', 'PostgreSQL', 'store']
const turns = fc.noBias(
  fc
    .tuple(
      fc.shuffledSubarray(names, { minLength: names.length }),
      fc.infiniteStream(fc.integer({ min: 1, max: UPLOADS_EACH_KILL * 3 })),
      fc.infiniteStream(fc.integer({ min: 0, max: 40 })),
    )
    .map(([order, acknowledgements, delays]) =>
      order.map((name) => ({
        name,
        acknowledgements: acknowledgements.next().value ?? 1,
        delayMs: delays.next().value ?? 0,
      })),
    ),
)

const file = endWithFile()
let postgres: PostgresServer
let store: StoreServer
before(async () => {
  if (needsProc) return
  ;[postgres, store] = await Promise.all([startPostgresServer(file), startStoreServer(file, 1)])
})

test('everything is killed once under load, and nothing acknowledged is lost', {
  skip: needsProc,
}, async (t) => {
  const cluster = await openCluster(t, { postgres, store })
  const receiver = await startReceiver(t)
  await createEndpoint(cluster, receiver.url, { events: ['session.processed', 'session.failed'] })
  const [second, ...workers] = await Promise.all([
    cluster.start('api'),
    cluster.start('worker'),
    cluster.start('worker'),
  ])
  const [firstWorker = assert.fail(), secondWorker = assert.fail()] = workers
  const mortals = new Map<string, { kill(): Promise<void>; revive(): Promise<void> }>([
    ['first API node', cluster.first],
    ['second API node', second],
    ['first worker', firstWorker],
    ['second worker', secondWorker],
    ['PostgreSQL', { kill: postgres.kill, revive: postgres.start }],
    ['store', { kill: store.kill, revive: store.start }],
  ])
  const over = new AbortController()
  t.after(() => over.abort()) // a failed test leaves no client behind
  const uploads: Upload[] = []
  const revivals: Promise<void>[] = []
  let noticed = 0
  for (const { name, acknowledgements, delayMs } of fc.sample(turns, { seed: SEED, numRuns: 1 })[0] ?? []) {
    const load = openLoad(cluster, { mayBreak: true }, over.signal)
    const carried = load.carry(UPLOADS_EACH_KILL, name)
    await load.acknowledgements(acknowledgements)
    await sleep(delayMs)
    const mortal = mortals.get(name) ?? assert.fail(name)
    await mortal.kill()
    // The next one may be killed before this one is back.
    revivals.push(mortal.revive())
    uploads.push(...(await carried))
    await Promise.all(uploads.map((upload) => load.client.checkKept(upload)))
    t.diagnostic(`${name}: clients met ${JSON.stringify(Object.fromEntries(load.outages))}`)
    noticed += load.outages.size
  }
  assert.ok(noticed > 0, 'no client has noticed a kill: the moments are badly chosen')
  await Promise.all(revivals)
  await checkAftermath(t, cluster, receiver, uploads.map(acknowledgedOf))
})
