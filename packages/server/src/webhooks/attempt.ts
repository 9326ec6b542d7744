import type { AttemptError } from '@tapedeck/contract'
import type { Clock } from '../clock.ts'
import type { PulledDelivery } from '../jobs/delivery-queue.ts'
import type { Due } from './due.ts'
import type { Lanes } from './lanes.ts'
import type { Attempt, Change } from './outcomes.ts'
import { nextDelayMs, parseRetryAfter, pauseMs } from './schedule.ts'
import type { Result, Sender } from './send.ts'
import { sign } from './sign.ts'

type Deps = { clock: Clock; sender: Sender; retryScale: number; lanes: Lanes }

/** Tries a delivery once, if it is to be tried now, and says what becomes of it. */
export async function attempt(deps: Deps, { endpointId }: PulledDelivery, due: Due): Promise<Change> {
  if (!due.enabled) return { status: 'failed', attempt: notSent(deps.clock, 'endpoint_disabled') }
  if (isTooLate(due)) return { status: 'failed' }
  if (due.pausedMs > 0) return putOff(due.pausedMs)
  const beganMs = performance.now()
  const { retryAfter, ...tried } = await post(deps, due)
  const health = judge(deps, endpointId, due, tried.error, beganMs)
  if (tried.error === null) return { status: 'succeeded', attempt: tried, health }
  const delayMs = nextDelayMs({
    attempts: due.roundAttempts + 1,
    leftMs: due.leftMs - tried.durationMs,
    retryAfterMs: parseRetryAfter(retryAfter, deps.clock.now()),
    scale: deps.retryScale,
    chance: Math.random(),
  })
  return { status: delayMs === undefined ? 'failed' : 'pending', attempt: tried, delayMs, health }
}

export function putOff(delayMs: number): Change {
  return { status: 'pending', delayMs }
}

/** No retry is made after the day. What was never tried, because the service was away, is: a receiver may be waiting. */
function isTooLate({ leftMs, roundAttempts, timeouts }: Due): boolean {
  return leftMs <= 0 && (roundAttempts > 0 || timeouts > 0)
}

async function post(
  { clock, sender }: Deps,
  { url, body, secrets }: Due,
): Promise<Attempt & Pick<Result, 'retryAfter'>> {
  if (secrets.length === 0) return { ...notSent(clock, 'secret_unreadable'), retryAfter: undefined }
  const startedAt = new Date(clock.now())
  return { startedAt, ...(await sender.post(url, body, sign(body, secrets, startedAt.getTime()))) }
}

/** A receiver that keeps falling silent is left alone for a while. However many ran into one silence, it is one. */
function judge(
  { lanes, retryScale }: Deps,
  endpointId: string,
  { timeouts }: Due,
  error: AttemptError | null,
  beganMs: number,
): Change['health'] {
  if (error !== 'timeout') {
    lanes.answered(endpointId)
    return timeouts > 0 ? { timeouts: 0, pauseMs: undefined } : undefined
  }
  if (!lanes.timedOut(endpointId, beganMs)) return undefined
  return { timeouts: timeouts + 1, pauseMs: pauseMs(timeouts + 1, retryScale) }
}

function notSent(clock: Clock, error: AttemptError): Attempt {
  return { startedAt: new Date(clock.now()), durationMs: 0, status: null, error, response: '' }
}
