import type { Fault } from './intake-messages.ts'
import { StorageUnavailable } from './storage.ts'

/** Errors lose their class on the way from thread to thread. */
export function toFault(error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error)
  return { kind: error instanceof StorageUnavailable ? 'unavailable' : 'unexpected', message }
}
