import { mayPass, pause, pauseMs } from '../retry.ts'

// An upload lives through whatever may pass: a link that is down, a service that is restarted, a storm of refusals. It
// gives up when nothing has moved for a long time, or when one thing has failed too often in a row.

const PATIENCE_MS = 15 * 60_000
const MAX_FAILURES_IN_A_ROW = 100

export type Patience = {
  /** Something moved. */
  moved(): void
  /** Waits before another try, or throws the error when there must be none. */
  afterFailure(error: unknown, failures: number): Promise<void>
  /** Runs until it succeeds. */
  untilDone<T>(work: () => Promise<T>): Promise<T>
}

export function openPatience(signal: AbortSignal): Patience {
  let lastMoveMs = performance.now()

  async function afterFailure(error: unknown, failures: number): Promise<void> {
    signal.throwIfAborted()
    const tooLong = performance.now() - lastMoveMs > PATIENCE_MS
    if (!mayPass(error) || tooLong || failures >= MAX_FAILURES_IN_A_ROW) throw error
    await pause(pauseMs(failures, error), signal)
  }

  return {
    moved() {
      lastMoveMs = performance.now()
    },
    afterFailure,
    async untilDone(work) {
      for (let failures = 0; ; failures++) {
        try {
          const done = await work()
          lastMoveMs = performance.now()
          return done
        } catch (error) {
          await afterFailure(error, failures)
        }
      }
    },
  }
}
