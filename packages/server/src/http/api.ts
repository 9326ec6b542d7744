import type { Operation } from './operation.ts'
import { type SessionDeps, sessionOperations } from './session-operations.ts'
import { type WebhookDeps, webhookOperations } from './webhook-operations.ts'

/** The whole API. */
export function operations(deps: SessionDeps & WebhookDeps): Operation[] {
  return [...sessionOperations(deps), ...webhookOperations(deps)]
}
