import type { Clock } from '../clock.ts'
import type { Connection, Db } from '../db/database.ts'
import { listen } from '../db/listen.ts'
import { DELIVERIES_CHANNEL } from '../jobs/delivery-queue.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Keys } from '../secrets.ts'
import { attempt, putOff } from './attempt.ts'
import { openDue } from './due.ts'
import { openLanes, type Waiting } from './lanes.ts'
import { type Change, openOutcomes } from './outcomes.ts'
import { openPace } from './pace.ts'
import type { Sender } from './send.ts'

// Delivers events: pulls the jobs that are due, sends each in the lane of its endpoint, writes what became of it.
// At least once: an outcome that could not be written, because this process died, leaves a claim that runs out.

type Deps = {
  db: Db
  connection: Connection
  jobs: Jobs
  clock: Clock
  sender: Sender
  webhookKeys: Keys
  retryScale: number
  onError: (error: unknown) => void
}

/**
 * All of a pull may be for one receiver that hangs, so a pull is small; where deliveries go fast it is larger, because
 * each one passes over all that is due for the endpoints that it leaves out.
 */
const MIN_PULL = 128
const MAX_PULL = 1024
const MAX_CLAIMED = 50_000
const POLL_MS = 1_000
const WAIT_AFTER_TIMEOUT_MS = 5_000
/** A claim that is older may run out before the receiver has answered: it is given back. */
const MAX_HELD_MS = 10_000
const STOP_MS = 5_000

export function startDelivering(deps: Deps): { stop(): Promise<void> } {
  const { db, connection, jobs, webhookKeys, retryScale, onError } = deps
  const outcomes = openOutcomes(deps, onError)
  const dueDeliveries = openDue(db, webhookKeys)
  const pace = openPace()
  const underWay = new Set<Promise<void>>()
  let stopping = false
  let stopped = false
  let wake: () => void = () => {}
  const lanes = openLanes({ prepare: dueDeliveries.prepare, run: track, onRoom: () => wake() })

  function track(job: Waiting): Promise<void> {
    const delivered = deliver(job).finally(() => underWay.delete(delivered))
    underWay.add(delivered)
    return delivered
  }

  /** Ends when the receiver has answered: the lane goes on while the outcome is written along with others. */
  async function deliver(job: Waiting): Promise<void> {
    try {
      const change = await changeOf(job)
      // We have hung up on the receiver ourselves: that says nothing about it.
      if (stopped) return
      settle(job, change)
      pace.count()
      if (change?.attempt?.error === 'timeout') putOffWaiting(job.endpointId, change)
    } catch (error) {
      // The claim runs out, and it is tried again.
      onError(error)
    }
  }

  async function changeOf(job: Waiting): Promise<Change | undefined> {
    if (performance.now() - job.pulledAtMs > MAX_HELD_MS) return putOff(0)
    const due = await dueDeliveries.find(job)
    return due && attempt({ ...deps, lanes }, job, due)
  }

  /** What waits behind a delivery that timed out would most likely time out too: it is put off, untried. */
  function putOffWaiting(endpointId: string, { health }: Change): void {
    const delayMs = health?.pauseMs ?? WAIT_AFTER_TIMEOUT_MS * retryScale
    for (const waiting of lanes.clear(endpointId)) settle(waiting, putOff(delayMs))
  }

  function settle(job: Waiting, change: Change | undefined): void {
    void outcomes.add({ job, change }).then(() => wakeIn(change?.delayMs))
  }

  /** What is due before the next poll would be found late. */
  function wakeIn(delayMs = POLL_MS): void {
    if (delayMs < POLL_MS) setTimeout(() => wake(), delayMs).unref()
  }

  async function pull(): Promise<number> {
    const wanted = Math.max(MIN_PULL, Math.min(MAX_PULL, Math.round(pace.perWindow())))
    const room = Math.min(wanted, MAX_CLAIMED - lanes.size())
    const pulled = room > 0 ? await jobs.deliveries.pull(db, room, lanes.busy()) : []
    const pulledAtMs = performance.now()
    for (const job of pulled) lanes.enter({ ...job, pulledAtMs })
    return pulled.length
  }

  async function run(): Promise<void> {
    while (!stopping) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const count = await pull().catch((error: unknown) => {
        onError(error)
        return 0
      })
      if (count === 0) await Promise.race([woken, sleep(POLL_MS)])
    }
  }

  const ears = listen(connection, DELIVERIES_CHANNEL, () => wake(), onError)
  const running = run()
  return {
    async stop() {
      stopping = true
      wake()
      await ears.stop()
      await running
      for (const waiting of lanes.clear()) settle(waiting, putOff(0))
      // Receivers that hang are not waited for: their claims run out and they are tried again.
      await Promise.race([Promise.all(underWay), sleep(STOP_MS)])
      stopped = true
      await outcomes.close()
    },
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}
