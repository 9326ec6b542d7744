import type { Fault } from './intake-messages.ts'
import { PartLost, StorageUnavailable } from './storage.ts'

/** Errors lose their class on the way from thread to thread. */
export function toFault(error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof PartLost) return { kind: 'lost', number: error.number, message }
  return { kind: error instanceof StorageUnavailable ? 'unavailable' : 'unexpected', message }
}
