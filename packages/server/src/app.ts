import { join } from 'node:path'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { openCallers } from './access/caller.ts'
import { DEFAULT_ORGANISATION, makeFirstKey } from './access/first-key.ts'
import type { CreatedKey } from './access/keys.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import { openAccounts, SIGN_IN_S } from './console/accounts.ts'
import { makeFirstLink } from './console/invitations.ts'
import { openBackingDatabase } from './db/backing.ts'
import { type Connection, type Db, isUnavailable } from './db/database.ts'
import { openDatabaseClock } from './db/database-clock.ts'
import { joinAsNode, type Node } from './db/nodes.ts'
import { operations } from './http/api.ts'
import { registerConsoleOperations } from './http/console-operation.ts'
import { consoleOperations } from './http/console-operations.ts'
import { registerConsoleSite } from './http/console-site.ts'
import { type Counting, openShareCounting } from './http/counting.ts'
import { registerEventStream } from './http/event-stream.ts'
import { defaultLoadLimits, type LoadLimits, openLoad } from './http/load.ts'
import { openApiDocument } from './http/openapi.ts'
import { openRateLimit, openSignInLimit } from './http/rate-limit.ts'
import { registerReference } from './http/reference.ts'
import { buildHealthServer, buildServer, defaultPatience, type Patience } from './http/server.ts'
import { type Handlers, type Jobs, openJobs } from './jobs/jobs.ts'
import { watchBacklog } from './operate/backlog.ts'
import { calmPace, type Pace, startCollecting } from './operate/collector.ts'
import { registerHealth } from './operate/health.ts'
import { every, sweep } from './operate/housekeeping.ts'
import { type Metrics, openMetrics } from './operate/metrics.ts'
import { followSecretChange } from './operate/secret-change.ts'
import { giveUpSession, processSession } from './processing/process-session.ts'
import type { ScanLimits } from './processing/scan.ts'
import { seedSandboxes } from './sandbox/seed.ts'
import { deriveSecrets, type Secrets } from './secrets.ts'
import { admitWaiting } from './sessions/admit.ts'
import { openUploadLinks } from './sessions/upload-links.ts'
import { removeIncoming } from './storage/disk.ts'
import { openIntake } from './storage/intake.ts'
import { openStorage, type StorageSettings, storageSettings } from './storage/open.ts'
import { type Storage, StorageUnavailable } from './storage/storage.ts'
import { startDelivering } from './webhooks/deliver.ts'
import { openEventFeed } from './webhooks/event-feed.ts'
import { moveSecrets } from './webhooks/move-secrets.ts'
import type { Announcer } from './webhooks/plan.ts'
import { openSender } from './webhooks/send.ts'
import { openTargets, type Resolve, type Targets } from './webhooks/target.ts'

// The composition root: everything is made here and handed on. Nothing else knows how the parts fit.

export type App = Served & {
  /** Drains what is under way and stops everything. */
  close(): Promise<void>
}

export type Served = {
  addresses: Addresses
  /** Made on the very first start, and known only now. */
  firstKey: CreatedKey | undefined
  /** Makes the first account; there until somebody has used it. */
  firstLink: string | undefined
}

export type Addresses = { baseUrl: string; uploadUrl: string; consoleUrl: string }

/** What a test may set. */
export type Overrides = {
  resolve?: Resolve
  scanLimits?: Partial<ScanLimits>
  clock?: Clock
  uploadIdleMs?: number
  loadLimits?: Partial<LoadLimits>
  patience?: Partial<Patience>
  intakeThreads?: number
  collectPace?: Partial<Pace>
}

/** What every role stands on. */
type Base = {
  config: Config
  overrides: Overrides
  log: FastifyBaseLogger
  onError: (error: unknown) => void
  onLost: (error: Error, sessionId: string) => void
  clock: Clock
  /** What has to be ended, the last first. */
  closers: (() => Promise<unknown>)[]
  db: Db
  connection: Connection
  node: Node
  secrets: Secrets
  storageSettings: StorageSettings
  storage: Storage
  jobs: Jobs
  announcer: Announcer
  targets: Targets
  metrics: Metrics
}

/** Where `npm start` builds the console. */
const consoleDir = join(import.meta.dirname, '..', '..', 'console', 'dist')
const UPLOAD_IDLE_MS = 60_000
const ADMIT_EVERY_MS = 1_000
const SEED_EVERY_MS = 2_000
const SWEEP_EVERY_MS = 10 * 60_000
/** Where other processes may be writing too, only what nobody can be writing any more is removed. */
const ABANDONED_AFTER_MS = 24 * 3600_000
const DRAIN_MS = 10_000
const CLOSE_IDLE_EVERY_MS = 50

export async function startApp(
  config: Config,
  log: FastifyBaseLogger,
  overrides: Overrides = {},
): Promise<App> {
  const onError = (err: unknown) => log.warn({ err }, 'background work failed; it will be tried again')
  const onLost = (err: Error, sessionId: string) =>
    log.error({ err, sessionId }, 'an acknowledged part is lost')
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const backing = await openBackingDatabase(config, log)
    closers.push(backing.close)
    const { db, connection } = backing.database
    const secrets = deriveSecrets(backing.secrets)
    const node = await joinAsNode(db, {
      alone: backing.embedded,
      codeVersion: backing.codeVersion,
      secrets: secrets.fingerprints,
      servesApi: config.role !== 'worker',
      onError,
    })
    closers.push(() => node.leave())
    const databaseClock = await openDatabaseClock(db, onError)
    closers.push(() => databaseClock.stop())
    const clock = overrides.clock ?? databaseClock

    const storageSettings = await prepareStorage(config, log, { alone: backing.embedded })
    const storage = await openStorage(storageSettings)
    closers.push(async () => storage.close())
    const jobs = await openJobs(connection, onError, { alone: backing.embedded })
    closers.push(() => jobs.stop())
    const announcer = { clock, jobs, retryScale: config.webhookRetryScale }
    const targets = openTargets(config.webhookTargets, overrides.resolve)
    const metrics = openMetrics()
    metrics.gauge(
      'tapedeck_database_waiting',
      'Requests waiting for a connection',
      () => backing.database.pool.waitingCount,
    )
    const following = followSecretChange({
      db,
      metrics,
      current: secrets.fingerprints[0],
      previous: secrets.previousFingerprint,
      longestUseS: Math.max(config.uploadTtlS, SIGN_IN_S),
      move: () => moveSecrets(db, secrets.webhookSecrets),
      onUnneeded: () => log.info('nothing needs the previous secret any more; remove it'),
      onError,
    })
    closers.push(() => following.stop())
    const backlog = watchBacklog({ db, jobs, metrics }, onError)
    closers.push(() => backlog.stop())
    const base: Base = {
      config,
      overrides,
      log,
      onError,
      onLost,
      clock,
      closers,
      db,
      connection,
      node,
      secrets,
      storageSettings,
      storage,
      jobs,
      announcer,
      targets,
      metrics,
    }
    if (config.role !== 'api') await startWorking(base)
    const served = config.role === 'worker' ? await serveHealth(base) : await serve(base)
    return { ...served, close }
  } catch (error) {
    await close().catch(onError)
    throw error
  }
}

/** Jobs, deliveries and what has to be done now and then. */
async function startWorking(base: Base): Promise<void> {
  const { config, overrides, log, onError, onLost, clock, closers, db, connection, storage } = base
  const { storageSettings, jobs, announcer, targets, secrets } = base
  const limits = {
    memoryBytes: config.processingMemoryMb * 2 ** 20,
    timeMs: config.processingTimeS * 1000,
    ...overrides.scanLimits,
  }
  const processing = {
    db,
    storage,
    storageSettings,
    announcer,
    segmentS: config.segmentS,
    limits,
    onLost,
    onLate: (sessionId: string) =>
      log.warn({ sessionId }, 'this worker was taken for dead; what it found does not count'),
  }
  const handlers: Handlers = {
    'process-session': ({ sessionId }, claim) => processSession(processing, sessionId, claim),
    'give-up-session': ({ sessionId }, claim) => giveUpSession(processing, sessionId, claim),
    'remove-objects': ({ sessionId, objects }) =>
      objects === 'all' ? storage.removeSession(sessionId) : storage.remove(objects),
  }
  const isOutage = (error: unknown) => error instanceof StorageUnavailable || isUnavailable(error)
  await jobs.work(handlers, { db, isOutage })
  const admitting = every(ADMIT_EVERY_MS, () => admitWaiting(db, jobs), onError)
  const seeding = every(SEED_EVERY_MS, () => seedSandboxes({ db, storage, clock }), onError)
  const sweeping = every(SWEEP_EVERY_MS, (signal) => sweep(db, config, signal), onError)
  const collecting = startCollector(base)
  closers.push(() => Promise.all([admitting.stop(), seeding.stop(), sweeping.stop(), collecting.stop()]))
  const sender = openSender({ targets })
  closers.push(() => sender.close())
  const delivering = startDelivering({
    db,
    connection,
    jobs,
    clock,
    sender,
    webhookKeys: secrets.webhookSecrets,
    retryScale: config.webhookRetryScale,
    onError,
  })
  closers.push(() => delivering.stop())
}

function startCollector({ overrides, log, onError, db, node, storage, metrics }: Base) {
  const countRemoved = metrics.counter(
    'tapedeck_objects_collected_total',
    'Objects removed that no row named',
  )
  return startCollecting(
    {
      db,
      node,
      storage,
      onRemoved(removed) {
        countRemoved(removed.count)
        log.info(removed, 'removed objects that no row names')
      },
      onUnknown: (unknown) =>
        log.warn(
          unknown,
          'left objects of sessions that this database has never known; see docs/operating.md',
        ),
      onEnd: (walk) => log.info(walk, 'all objects were looked at'),
      onError,
    },
    { ...calmPace, ...overrides.collectPace },
  )
}

/** The API, the endpoint that takes parts, and the console. */
async function serve(base: Base): Promise<Served> {
  const { config, overrides, log, onError, clock, closers, db, connection, node, secrets, storage } = base
  const { storageSettings, jobs, announcer, targets, metrics, onLost } = base
  const intake = await openIntake({
    storage: storageSettings,
    idleTimeoutMs: overrides.uploadIdleMs ?? UPLOAD_IDLE_MS,
    onError,
    ...(overrides.intakeThreads && { threads: overrides.intakeThreads }),
  })
  closers.push(() => intake.close())

  const callers = openCallers(db, onError)
  closers.push(() => callers.close())
  const load = openLoad({ ...defaultLoadLimits, ...overrides.loadLimits })
  closers.push(async () => load.close())
  metrics.gauge('tapedeck_requests_in_flight', 'Requests being answered', () => load.inFlight('request'))
  metrics.gauge('tapedeck_uploads_in_flight', 'Parts being received', () => load.inFlight('upload'))

  const addresses: Addresses = { baseUrl: '', uploadUrl: '', consoleUrl: '' }
  const links = openUploadLinks({
    uploadUrl: () => addresses.uploadUrl,
    key: secrets.uploadUrls[0],
    ttlS: config.uploadTtlS,
    clock,
  })
  const table = operations({
    db,
    jobs,
    node,
    clock,
    links,
    targets,
    announcer,
    cursorKeys: secrets.cursors,
    webhookKeys: secrets.webhookSecrets,
    intake,
    onLost,
  })
  const consoleUrl = () => addresses.consoleUrl
  const accounts = openAccounts({
    db,
    clock,
    secrets: secrets.accounts,
    consoleUrl,
    elsewhere: config.oidc,
    onError,
  })
  const consoleAccess = { db, accounts, consoleUrl }
  const counting = await openCounting(base)
  const rateLimit = openRateLimit(counting, config.rateLimit)
  const server = buildServer({
    db,
    node,
    jobs,
    clock,
    callers,
    intake,
    load,
    metrics,
    log,
    rateLimit,
    consoleAccess,
    urlKeys: secrets.uploadUrls,
    responseKeys: secrets.responses,
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    operations: table,
    patience: { ...defaultPatience, ...overrides.patience },
  })
  registerHealth(server, { db, storage, metrics })
  const feed = openEventFeed({ db, connection, onError })
  registerEventStream(server, { feed, callers, consoleAccess, rateLimit })
  registerReference(server, () => openApiDocument(table, addresses))
  registerConsoleOperations(
    server,
    { ...consoleAccess, rateLimit },
    consoleOperations({ ...consoleAccess, clock, spendSignIn: openSignInLimit(counting) }),
  )
  registerConsoleSite(server, { ...consoleAccess, uploadUrl: () => addresses.uploadUrl, dir: consoleDir })
  closers.push(() => drain(server, load))
  // Streams would never end by themselves.
  closers.push(() => feed.close())
  const listening = await server.listen({ host: config.host, port: config.port })
  Object.assign(addresses, publicAddresses(config, listening))
  const firstKey = await makeFirstKey(db, clock)
  const firstLink = await makeFirstLink({ db, clock, consoleUrl }, DEFAULT_ORGANISATION)
  return { addresses, firstKey, firstLink }
}

/** What is limited is counted by all nodes together where there is a Redis, and by each its share where there is none. */
async function openCounting({ config, log, closers, node, metrics }: Base): Promise<Counting> {
  const share = openShareCounting(node.apiNodes)
  if (!config.redisUrl) return share
  const { openSharedCounting } = await import('./http/shared-counting.ts')
  const counting = await openSharedCounting({
    url: config.redisUrl,
    share,
    onAway: (reason) =>
      log.warn({ reason }, 'Redis does not answer; each node counts its share of the limits until it does'),
    onBack: () => log.info('Redis answers again; limits are counted by all nodes together'),
  })
  closers.push(async () => counting.close())
  metrics.gauge(
    'tapedeck_rate_limits_shared',
    'Whether limits are counted in Redis, by all nodes together: 1, or 0 while it is away',
    () => Number(counting.isShared()),
  )
  return counting
}

/** A worker says how it is, and nothing else. */
async function serveHealth({ config, log, closers, db, storage, metrics }: Base): Promise<Served> {
  const server = buildHealthServer(log)
  registerHealth(server, { db, storage, metrics })
  closers.push(() => server.close())
  const listening = await server.listen({ host: config.host, port: config.port })
  return { addresses: publicAddresses(config, listening), firstKey: undefined, firstLink: undefined }
}

async function prepareStorage(
  config: Config,
  log: FastifyBaseLogger,
  { alone }: { alone: boolean },
): Promise<StorageSettings> {
  const settings = storageSettings(config)
  if (settings.kind === 'disk') {
    await removeIncoming(settings.root, alone ? 0 : ABANDONED_AFTER_MS)
    return settings
  }
  const { examine } = await import('./storage/s3/examine.ts')
  const enforced = await examine(settings)
  const { bucket, endpoint } = settings
  if (enforced)
    log.info({ bucket, endpoint, enforced }, 'the store refuses these kinds of wrong bytes by itself')
  else log.warn({ bucket, endpoint }, 'the store does not answer; parts are refused until it does')
  return { ...settings, comparesChecksums: enforced?.checksumSha256 ?? false }
}

function publicAddresses(config: Config, listening: string): Addresses {
  const baseUrl = config.baseUrl ?? listening.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]')
  return {
    baseUrl,
    uploadUrl: config.uploadUrl ?? baseUrl,
    consoleUrl: config.consoleUrl ?? `${baseUrl}/console`,
  }
}

/** New requests are refused, those under way get some time, then connections are cut. */
async function drain(server: FastifyInstance, load: { drain(): void }): Promise<void> {
  load.drain()
  // A connection whose answer ends while we wait would be kept for the client's next request.
  const closingIdle = setInterval(() => server.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
  const cutting = setTimeout(() => server.server.closeAllConnections(), DRAIN_MS)
  await server.close()
  clearInterval(closingIdle)
  clearTimeout(cutting)
}
