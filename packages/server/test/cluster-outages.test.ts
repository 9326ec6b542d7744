import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { isUnavailable, openDatabase } from '../src/db/database.ts'
import { call } from './support/client.ts'
import { type Acknowledged, checkAftermath } from './support/cluster/aftermath.ts'
import { type Cluster, openCluster } from './support/cluster/cluster.ts'
import { type PostgresServer, startPostgresServer } from './support/cluster/postgres.ts'
import { type StoreServer, startStoreServer } from './support/cluster/store.ts'
import { acknowledgedOf, openLoad } from './support/cluster/uploads.ts'
import { endWithFile } from './support/ending.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'
import { assertRefused } from './support/refusal.ts'
import { until } from './support/until.ts'
import { createEndpoint } from './support/webhooks.ts'

// Database and store are away for some seconds while clients upload and a worker processes. Nodes live on: whoever asks
// gets an answer, and everything goes on by itself.

const OUTAGE_MS = 3_000
/** Until a standby is promoted. */
const FAILOVER_MS = 10_000

const file = endWithFile()
let postgres: PostgresServer
let store: StoreServer
let cluster: Cluster
let receiver: Receiver
const acknowledged: Acknowledged[] = []
before(async () => {
  ;[postgres, store] = await Promise.all([startPostgresServer(file), startStoreServer(file, 1)])
  cluster = await openCluster(file, { postgres, store })
  receiver = await startReceiver(file)
  await createEndpoint(cluster, receiver.url, { events: ['session.processed', 'session.failed'] })
  await cluster.start('worker')
})

test('a database that falls silent is given up, and another connection is made', async () => {
  const errors: Error[] = []
  const connection = { connectionString: cluster.databaseUrl }
  const database = openDatabase(connection, { silenceMs: 300, onError: (error) => errors.push(error) })
  await sql`select 1`.execute(database.db)
  postgres.network.stall()
  await assert.rejects(sql`select 2`.execute(database.db), (error) => isUnavailable(error))
  postgres.network.pass()
  await sql`select 3`.execute(database.db)
  await database.close()
})

test('PostgreSQL fails over: writes are refused for as long as it lasts, reads go on, nothing is lost', async (t) => {
  const load = openLoad(cluster, { mayBreak: false })
  const carried = load.carry(6, 'failover')
  await load.acknowledgements(5)
  postgres.network.refuse()
  await until('a client has noticed', async () => load.outages.has('database_unavailable'))
  await postgres.setReadOnly(true)
  postgres.network.pass()
  await until('reads go on', async () => (await list()).status === 200)
  const body = { site: 'lab', filename: 'a.mcap', bytes: 10, sha256: '0'.repeat(64) }
  const refused = await call(cluster.url, 'POST', '/v1/sessions', { key: cluster.key, body })
  assertRefused(refused, 503, 'database_unavailable')
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
  assert.equal((await call(cluster.url, 'GET', '/readyz')).status, 503)
  await sleep(FAILOVER_MS)
  await postgres.setReadOnly(false)
  acknowledged.push(...(await carried).map(acknowledgedOf))
  t.diagnostic(`what clients met: ${JSON.stringify(Object.fromEntries(load.outages))}`)
  await checkAftermath(t, cluster, receiver, acknowledged)
})

test('the store is away: parts are refused, recordings wait to be read, nothing is lost', async (t) => {
  const load = openLoad(cluster, { mayBreak: false })
  const carried = load.carry(6, 'store')
  await load.acknowledgements(8)
  store.network.refuse()
  await until('a client has noticed', async () => load.outages.has('storage_unavailable'))
  await sleep(OUTAGE_MS)
  store.network.pass()
  acknowledged.push(...(await carried).map(acknowledgedOf))
  t.diagnostic(`what clients met: ${JSON.stringify(Object.fromEntries(load.outages))}`)
  await checkAftermath(t, cluster, receiver, acknowledged)
})

test('the store falls silent: whoever waits for it goes on, nothing is lost', async (t) => {
  const load = openLoad(cluster, { mayBreak: false })
  const carried = load.carry(6, 'silent')
  await load.acknowledgements(8)
  store.network.stall()
  await sleep(OUTAGE_MS)
  store.network.pass()
  acknowledged.push(...(await carried).map(acknowledgedOf))
  t.diagnostic(`what clients met: ${JSON.stringify(Object.fromEntries(load.outages))}`)
  await checkAftermath(t, cluster, receiver, acknowledged)
})

const list = () => call(cluster.url, 'GET', '/v1/sessions', { key: cluster.key })
