import { type DeviceDeps, deviceOperations } from './device-operations.ts'
import type { Operation } from './operation.ts'
import { type SessionDeps, sessionOperations } from './session-operations.ts'
import { type WebhookDeps, webhookOperations } from './webhook-operations.ts'

/** The whole API. */
export function operations(deps: SessionDeps & DeviceDeps & WebhookDeps): Operation[] {
  return [...sessionOperations(deps), ...deviceOperations(deps), ...webhookOperations(deps)]
}
