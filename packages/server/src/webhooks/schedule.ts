import { WEBHOOK_WINDOW_HOURS } from '@tapedeck/contract'

// When a delivery is tried again. The first attempt is made at once; the delays between the others come near to
// a day in sum. `scale` compresses all of it.

const S = 1_000
const MIN = 60 * S
const H = 60 * MIN
const DELAYS_MS = [5 * S, 30 * S, 2 * MIN, 10 * MIN, 30 * MIN, H, 2 * H, 4 * H, 6 * H, 9.25 * H]
/** So that many deliveries that failed together do not come back together. */
const JITTER = 0.1
/** Before the end of the day, so that the attempt is made before it. */
const LAST_MOMENT_MS = MIN

export const windowMs = (scale: number): number => WEBHOOK_WINDOW_HOURS * H * scale

type Failure = {
  /** Attempts made in this round, the failed one included. */
  attempts: number
  /** Until no attempt may be made any more. */
  leftMs: number
  /** What the receiver asked for. */
  retryAfterMs: number | undefined
  scale: number
  /** From 0 to 1. */
  chance: number
}

/** How long to wait before the next attempt, or undefined when there is none left. */
export function nextDelayMs({
  attempts,
  leftMs,
  retryAfterMs = 0,
  scale,
  chance,
}: Failure): number | undefined {
  const planned = DELAYS_MS[attempts - 1]
  const lastMs = leftMs - LAST_MOMENT_MS * scale
  if (planned === undefined || lastMs <= 0) return undefined
  const jittered = planned * scale * (1 + JITTER * (2 * chance - 1))
  // What would come too late comes at the last moment.
  return Math.min(Math.max(jittered, retryAfterMs), lastMs)
}

const TIMEOUTS_BEFORE_PAUSE = 3
const FIRST_PAUSE_MS = 15 * S
const LONGEST_PAUSE_MS = 10 * MIN

/** How long an endpoint is left alone after so many timeouts in a row. */
export function pauseMs(timeouts: number, scale: number): number | undefined {
  if (timeouts < TIMEOUTS_BEFORE_PAUSE) return undefined
  return Math.min(FIRST_PAUSE_MS * 2 ** (timeouts - TIMEOUTS_BEFORE_PAUSE), LONGEST_PAUSE_MS) * scale
}

/** `Retry-After` in seconds or as a date. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * S
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}
