import { isUnavailable } from '../db/database.ts'
import type { Handlers } from '../jobs/jobs.ts'
import { calmPace, startCollecting } from '../operate/collector.ts'
import { every, sweep } from '../operate/housekeeping.ts'
import { giveUpSession, processSession } from '../processing/process-session.ts'
import { seedSandboxes } from '../sandbox/seed.ts'
import { admitWaiting } from '../sessions/admit.ts'
import { StorageUnavailable } from '../storage/storage.ts'
import { startDelivering } from '../webhooks/deliver.ts'
import { openSender } from '../webhooks/send.ts'
import type { Base } from './base.ts'

const ADMIT_EVERY_MS = 1_000
const SEED_EVERY_MS = 2_000
const SWEEP_EVERY_MS = 10 * 60_000

/** Jobs, deliveries and what has to be done now and then. */
export async function startWorking(base: Base): Promise<void> {
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
