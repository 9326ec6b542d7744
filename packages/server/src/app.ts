import type { FastifyBaseLogger } from 'fastify'
import type { Base, Overrides, Served } from './app/base.ts'
import { serve, serveHealth } from './app/serve.ts'
import { startWorking } from './app/work.ts'
import type { Config } from './config.ts'
import { SIGN_IN_S } from './console/accounts.ts'
import { openBackingDatabase } from './db/backing.ts'
import { openDatabaseClock } from './db/database-clock.ts'
import { joinAsNode } from './db/nodes.ts'
import { openJobs } from './jobs/jobs.ts'
import { watchBacklog } from './operate/backlog.ts'
import { openMetrics } from './operate/metrics.ts'
import { followSecretChange } from './operate/secret-change.ts'
import { deriveSecrets } from './secrets.ts'
import { removeIncoming } from './storage/disk.ts'
import { openStorage, type StorageSettings, storageSettings } from './storage/open.ts'
import { moveSecrets } from './webhooks/move-secrets.ts'
import { openTargets } from './webhooks/target.ts'

// The composition root: everything is made here and below `app/`, and handed on. Nothing else knows how the parts fit.

export type App = Served & {
  /** Drains what is under way and stops everything. */
  close(): Promise<void>
}

/** Where other processes may be writing too, only what nobody can be writing any more is removed. */
const ABANDONED_AFTER_MS = 24 * 3600_000

export async function startApp(
  config: Config,
  log: FastifyBaseLogger,
  overrides: Overrides = {},
): Promise<App> {
  const onError = (err: unknown) => log.warn({ err }, 'background work failed; it will be tried again')
  const onLost = (err: Error, sessionId: string) =>
    log.error({ err, sessionId }, 'an acknowledged part is lost')
  const closers: (() => Promise<unknown>)[] = []
  // What cannot be ended in order, because the database is away, keeps nothing else open.
  const onUnended = (err: unknown) => log.warn({ err }, 'something did not end in order')
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer().catch(onUnended)
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
    await close()
    throw error
  }
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
