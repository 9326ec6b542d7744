import type { Db } from '../db/database.ts'
import type { ActorKind } from '../db/schema.ts'

/** Who changes something: a key, a member, or somebody on the machine of the service. */
export type Actor = { kind: ActorKind; id: string; name: string }

export const commandLine: Actor = { kind: 'command', id: '', name: 'command line' }
export const serviceItself: Actor = { kind: 'service', id: '', name: 'the service' }

/** What the log can tell of. */
export type Action =
  | 'organisation.created'
  | 'key.created'
  | 'key.revoked'
  | 'member.joined'
  | 'member.changed'
  | 'member.removed'
  | 'invitation.created'
  | 'invitation.revoked'
  | 'session.deleted'
  | 'session.reprocessed'
  | 'calibration.stored'
  | 'webhook_endpoint.created'
  | 'webhook_endpoint.updated'
  | 'webhook_endpoint.deleted'
  | 'webhook_endpoint.secret_rotated'
  | 'webhook_endpoint.tested'
  | 'webhook_delivery.redelivered'

export type Change = {
  organisationId: string
  actor: Actor
  action: Action
  /** The id of what was changed. */
  object: string
  detail?: string
  requestId?: string
}

/** Writes the change down, in the transaction that makes it. */
export async function recordChange(db: Db, change: Change): Promise<void> {
  await db
    .insertInto('audit_log')
    .values({
      organisation_id: change.organisationId,
      actor_kind: change.actor.kind,
      actor_id: change.actor.id,
      actor_name: change.actor.name,
      action: change.action,
      object: change.object,
      detail: change.detail ?? '',
      request_id: change.requestId ?? '',
    })
    .execute()
}
