import type { Clock } from '../clock.ts'
import type { Connection, Db } from '../db/database.ts'
import { listen } from '../db/listen.ts'
import { DELIVERIES_CHANNEL, type PulledDelivery } from '../jobs/delivery-queue.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { type Claimed, loadClaimed } from './claimed.ts'
import { type Lanes, openLanes } from './lanes.ts'
import { type Outcome, openOutcomes } from './outcomes.ts'
import { nextDelayMs, parseRetryAfter, pauseMs } from './schedule.ts'
import type { Result, Sender } from './send.ts'
import { sign } from './sign.ts'

// Delivers events: pulls the jobs that are due, sends each in the lane of its endpoint, writes what became of it.
// At least once: an outcome that could not be written, because this process died, leaves a claim that runs out.

type Deps = {
  db: Db
  connection: Connection
  jobs: Jobs
  clock: Clock
  sender: Sender
  webhookKey: Buffer
  retryScale: number
  onError: (error: unknown) => void
}

const MAX_IN_FLIGHT = 1_000
const PULL = 128
const POLL_MS = 1_000
const WAIT_AFTER_TIMEOUT_MS = 5_000
/** A claim that is older may run out before the receiver has answered: it is given back. */
const MAX_HELD_MS = 10_000
const STOP_MS = 5_000

export function startDelivering(deps: Deps): { stop(): Promise<void> } {
  const outcomes = openOutcomes(deps, deps.onError)
  const inFlight = new Set<Promise<void>>()
  let stopping = false
  let wake: () => void = () => {}
  const lanes = openLanes(track, () => wake())

  function track(delivery: Claimed): Promise<void> {
    const sent = send(deps, lanes, delivery)
    const settled = sent.then(finish).catch(deps.onError)
    inFlight.add(settled)
    void settled.finally(() => inFlight.delete(settled))
    // The lane goes on when the receiver has answered; the outcome is written along with others.
    return sent.then(putOffWaiting, () => {})
  }

  /** What waits behind a delivery that timed out would most likely time out too: it is put off, untried. */
  function putOffWaiting({ endpointId, attempt, health }: Outcome): void {
    if (attempt?.error !== 'timeout') return
    const delayMs = health?.pauseMs ?? WAIT_AFTER_TIMEOUT_MS * deps.retryScale
    for (const waiting of lanes.clear(endpointId)) void outcomes.add(putOff(waiting, delayMs))
  }

  async function finish(outcome: Outcome): Promise<void> {
    await outcomes.add(outcome)
    // What others are notified of comes to us by the same way; a short delay would be found only by the next poll.
    if (outcome.delayMs !== undefined && outcome.delayMs < POLL_MS)
      setTimeout(() => wake(), outcome.delayMs).unref()
  }

  async function pull(): Promise<number> {
    const room = Math.min(PULL, MAX_IN_FLIGHT - inFlight.size - lanes.held())
    const pulled = room > 0 ? await deps.jobs.deliveries.pull(room, lanes.busy()) : []
    if (pulled.length === 0) return 0
    const { claimed, void: gone } = await loadClaimed(deps.db, deps.webhookKey, pulled)
    for (const job of gone) void outcomes.add(nothingLeft(job))
    for (const delivery of claimed) lanes.enter(delivery)
    return pulled.length
  }

  async function run(): Promise<void> {
    while (!stopping) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const count = await pull().catch((error: unknown) => {
        deps.onError(error)
        return 0
      })
      if (count === 0) await Promise.race([woken, sleep(POLL_MS)])
    }
  }

  const ears = listen(deps.connection, DELIVERIES_CHANNEL, () => wake(), deps.onError)
  const running = run()
  return {
    async stop() {
      stopping = true
      wake()
      await ears.stop()
      await running
      for (const delivery of lanes.clear()) void outcomes.add(putOff(delivery, 0))
      // Receivers that hang are not waited for: their claims run out and they are tried again.
      await Promise.race([Promise.all(inFlight), sleep(STOP_MS)])
      await outcomes.close()
    },
  }
}

async function send(deps: Deps, lanes: Lanes, delivery: Claimed): Promise<Outcome> {
  if (!delivery.enabled) return given(delivery, disabledNow(deps.clock), 'failed', undefined)
  if (performance.now() - delivery.claimedAtMs > MAX_HELD_MS) return putOff(delivery, 0)
  if (delivery.pausedMs > 0) return putOff(delivery, delivery.pausedMs)
  const startedAt = new Date(deps.clock.now())
  const signature = sign(delivery.body, delivery.secrets, startedAt.getTime())
  const result = await deps.sender.post(delivery.url, delivery.body, signature)
  const { status, error, response, durationMs } = result
  const attempt = { startedAt, durationMs, status, error, response }
  const health = judge(deps, lanes, delivery, result)
  if (error === null) return given(delivery, attempt, 'succeeded', undefined, health)
  const delayMs = nextDelayMs({
    attempts: delivery.roundAttempts + 1,
    leftMs: delivery.leftMs - durationMs,
    retryAfterMs: parseRetryAfter(result.retryAfter, deps.clock.now()),
    scale: deps.retryScale,
    chance: Math.random(),
  })
  return given(delivery, attempt, delayMs === undefined ? 'failed' : 'pending', delayMs, health)
}

/** A receiver that keeps timing out is left alone for a while. */
function judge({ retryScale }: Deps, lanes: Lanes, delivery: Claimed, { error }: Result): Outcome['health'] {
  if (error !== 'timeout') {
    lanes.answered(delivery)
    return delivery.timeouts > 0 ? { timeouts: 0, pauseMs: undefined } : undefined
  }
  const inARow = lanes.timedOut(delivery)
  return { timeouts: inARow, pauseMs: pauseMs(inARow, retryScale) }
}

function given(
  { jobId, deliveryId, endpointId, attempts }: Claimed,
  attempt: Outcome['attempt'],
  status: Outcome['status'],
  delayMs: number | undefined,
  health?: Outcome['health'],
): Outcome {
  return { jobId, deliveryId, endpointId, attemptsBefore: attempts, attempt, status, delayMs, health }
}

function putOff(delivery: Claimed, delayMs: number): Outcome {
  return given(delivery, undefined, 'pending', delayMs)
}

/** The delivery is gone or done: only its job is left to end. */
function nothingLeft(job: PulledDelivery): Outcome {
  return {
    ...job,
    attemptsBefore: -1,
    attempt: undefined,
    status: 'failed',
    delayMs: undefined,
    health: undefined,
  }
}

function disabledNow(clock: Clock): Outcome['attempt'] {
  return {
    startedAt: new Date(clock.now()),
    durationMs: 0,
    status: null,
    error: 'endpoint_disabled',
    response: '',
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
