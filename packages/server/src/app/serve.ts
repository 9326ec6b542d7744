import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { openCallers } from '../access/caller.ts'
import { DEFAULT_ORGANISATION, makeFirstKey } from '../access/first-key.ts'
import type { Config } from '../config.ts'
import { openAccounts } from '../console/accounts.ts'
import { makeFirstLink } from '../console/invitations.ts'
import { operations } from '../http/api.ts'
import { registerConsoleOperations } from '../http/console-operation.ts'
import { consoleOperations } from '../http/console-operations.ts'
import { registerConsoleSite } from '../http/console-site.ts'
import { type Counting, openShareCounting } from '../http/counting.ts'
import { registerEventStream } from '../http/event-stream.ts'
import { defaultLoadLimits, openLoad } from '../http/load.ts'
import { openApiDocument } from '../http/openapi.ts'
import { openRateLimit, openSignInLimit } from '../http/rate-limit.ts'
import { registerReference } from '../http/reference.ts'
import { buildHealthServer, buildServer, defaultPatience } from '../http/server.ts'
import { openTurns } from '../http/turns.ts'
import { registerHealth } from '../operate/health.ts'
import { openUploadLinks } from '../sessions/upload-links.ts'
import { openIntake } from '../storage/intake.ts'
import { openEventFeed } from '../webhooks/event-feed.ts'
import type { Addresses, Base, Served } from './base.ts'

/** Where `npm start` builds the console. */
const consoleDir = join(import.meta.dirname, '..', '..', '..', 'console', 'dist')
const UPLOAD_IDLE_MS = 60_000
const DRAIN_MS = 10_000
const CLOSE_IDLE_EVERY_MS = 50

/** The API, the endpoint that takes parts, and the console. */
export async function serve(base: Base): Promise<Served> {
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
  const turns = openTurns()
  closers.push(async () => turns.close())
  metrics.gauge(
    'tapedeck_turns_at_once',
    'Reads, and likewise writes, that are begun at once; few when both are there and the event loop never rests',
    () => turns.atOnce(),
  )
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
    turns,
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
  const { openSharedCounting } = await import('../http/shared-counting.ts')
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
export async function serveHealth({ config, log, closers, db, storage, metrics }: Base): Promise<Served> {
  const server = buildHealthServer(log)
  registerHealth(server, { db, storage, metrics })
  closers.push(() => server.close())
  const listening = await server.listen({ host: config.host, port: config.port })
  return { addresses: publicAddresses(config, listening), firstKey: undefined, firstLink: undefined }
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
