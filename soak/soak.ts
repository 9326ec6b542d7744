import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from '../bench/support/stage.ts'
import { Tapedeck } from '../packages/sdk/src/index.ts'
import { collect } from '../packages/server/src/admin.ts'
import { openDatabase } from '../packages/server/src/db/database.ts'
import { openFaultyStore } from '../packages/server/test/support/faulty-store.ts'
import { openChance } from './chance.ts'
import { checkAll, settle, type Verdict } from './checks.ts'
import { startClients } from './clients.ts'
import { openCluster, sharedEnv } from './cluster.ts'
import { allFaults, type FaultName, startFaults } from './faults.ts'
import { openFoundation } from './foundation.ts'
import { openLedger } from './ledger.ts'
import { watchMemory } from './memory.ts'
import { startReceiver } from './receiver.ts'

// Two API nodes and two workers on PostgreSQL and S3, clients that use them, and faults; then everything that was
// acknowledged is looked for.

export type SoakSettings = {
  seed: number
  /** How long clients come and faults happen. What is under way then has time to come to its end. */
  forMs: number
  faults?: readonly FaultName[]
  /** Between two faults. */
  everyMs?: [number, number]
  workers?: number
  onProgress?: (line: string) => void
}

const SETTLE_WITHIN_MS = 5 * 60_000
const EVERY_MS: [number, number] = [1_000, 8_000]
/** A day of retries in 14 minutes. */
const RETRY_SCALE = '0.01'

export async function soak(stage: Stage, settings: SoakSettings): Promise<Verdict[]> {
  const { seed, forMs, faults: kinds = allFaults, everyMs = EVERY_MS, onProgress = () => {} } = settings
  const chance = openChance(seed)
  const ledger = openLedger()
  const receiver = await startReceiver(stage, chance.fork(), ledger)
  const internalErrors: string[] = []
  const foundation = await openFoundation(stage)
  const way = await openFaultyStore(foundation.bucket)
  stage.after(() => way.close())
  const shared = {
    databaseUrl: foundation.postgres.overNetwork(foundation.databaseUrl),
    bucket: way.settings,
  }
  const cluster = await openCluster(stage, shared, {
    env: { TAPEDECK_WEBHOOK_RETRY_SCALE: RETRY_SCALE },
    ...(settings.workers && { workers: settings.workers }),
    onLine(node, line) {
      if (line.includes('"msg":"request failed"')) internalErrors.push(`${node}: ${line.slice(0, 500)}`)
      if (process.env.TEST_LOG !== undefined) process.stderr.write(`${node}: ${line}\n`)
    },
  })
  const tapedeck = new Tapedeck({ apiKey: cluster.key, baseUrl: cluster.url })
  const endpoint = await tapedeck.webhookEndpoints.create({
    url: receiver.url,
    events: ['session.processed', 'session.failed'],
  })
  receiver.expect(endpoint.secret)

  const memory = watchMemory({ 'API nodes': cluster.api, workers: cluster.workers })
  const startMs = performance.now()
  const clients = startClients(cluster, chance.fork(), ledger)
  const faults = startFaults({ cluster, foundation, way }, chance.fork(), { kinds, everyMs })
  const tell = (doing: string) =>
    onProgress(
      `${((performance.now() - startMs) / 1000).toFixed(0)} s, ${doing}: ${ledger.sessions.length} uploads, ` +
        `${ledger.lists} lists, ${ledger.events.size} events, ${ledger.interruptions} interruptions, ` +
        `${ledger.surprises.length} surprises; last fault: ${faults.last()}`,
    )
  const telling = setInterval(() => tell('under way'), 1_000)
  await delay(forMs)
  // No new uploads while everything comes up again.
  await Promise.all([faults.stop(), clients.finish()])
  clearInterval(telling)
  memory.stop()

  const { db, close } = openDatabase({ connectionString: foundation.databaseUrl }, { maxConnections: 2 })
  stage.after(close)
  await settle(db, SETTLE_WITHIN_MS, (left) => tell(`${left} left to be done`))
  const collected = await collect(
    { TAPEDECK_DATA_DIR: stage.dir, ...sharedEnv(foundation) },
    { dryRun: false, alsoUnknown: false, tell() {}, signal: new AbortController().signal },
  )
  const crashes = [...cluster.api, ...cluster.workers].filter((node) => node.crashes() > 0)
  const happened = [...faults.counts].map(([name, count]) => `${count} × ${name}`)
  return [
    { what: 'faults', found: happened.join(', ') || 'none', holds: true },
    {
      what: 'objects that the collector removed',
      found: String(collected.left_over + collected.deleted),
      holds: true,
    },
    ...(await checkAll({ db, bucket: foundation.bucket, ledger })),
    {
      what: 'answers of 500',
      found: internalErrors.length === 0 ? 'none' : `${internalErrors.length} (${internalErrors[0]})`,
      holds: internalErrors.length === 0,
    },
    {
      what: 'nodes that ended by themselves',
      found: crashes.map(({ name }) => name).join(', ') || 'none',
      holds: crashes.length === 0,
    },
    memory.verdict('API nodes'),
    memory.verdict('workers'),
  ]
}
