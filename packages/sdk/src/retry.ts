import { ConnectionError, TapedeckError } from './errors.ts'

const FIRST_PAUSE_MS = 300
const LONGEST_PAUSE_MS = 30_000

/** Whether the same request may succeed later. A 4xx stays what it is, but for the two that say so. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof TapedeckError)) return false
  if (error instanceof ConnectionError) return error.code === 'unreachable' || error.code === 'timeout'
  return error.status === 429 || error.status >= 500 || error.code === 'idempotency_key_in_use'
}

/** Doubles with every failure, never less than the service asks for; with jitter, so that clients drift apart. */
export function pauseMs(failures: number, error: unknown): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 16))
  const asked = error instanceof TapedeckError ? (error.retryAfterS ?? 0) * 1000 : 0
  return asked + longest * (0.5 + Math.random() / 2)
}

/** Waits, unless the signal comes first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
