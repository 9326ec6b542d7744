import type { Session } from './objects.ts'
import { mayPass, pause, pauseMs } from './retry.ts'

export type WaitOptions = {
  signal?: AbortSignal
  /** Called with the session whenever it was asked for. */
  onProgress?(session: Session): void
}

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 3_000
/** In a row; a service that is being restarted is back by then. */
const MAX_FAILURES = 20

/** Asks for the session until it is processed or failed. */
export async function waitUntilDone(
  retrieve: () => Promise<Session>,
  { signal, onProgress }: WaitOptions,
): Promise<Session> {
  let failures = 0
  for (let waitMs = FIRST_PAUSE_MS; ; waitMs = Math.min(LONGEST_PAUSE_MS, waitMs * 1.3)) {
    try {
      const session = await retrieve()
      failures = 0
      onProgress?.(session)
      if (session.status === 'processed' || session.status === 'failed') return session
      await pause(waitMs, signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (!mayPass(error) || failures >= MAX_FAILURES) throw error
      await pause(pauseMs(failures++, error), signal)
    }
  }
}
