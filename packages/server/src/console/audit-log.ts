import type { AuditEntry, ConsoleList, ListAuditLog } from '@tapedeck/contract'
import type { Db } from '../db/database.ts'
import type { Member } from './member.ts'

const PAGE = 100

/** What was changed in the organisation and its sandbox, and by whom; newest first. */
export async function listAuditLog(
  db: Db,
  { live, sandboxId }: Member,
  { action, cursor }: ListAuditLog,
): Promise<ConsoleList<AuditEntry>> {
  let query = db
    .selectFrom('audit_log')
    .select([
      'id',
      'organisation_id',
      'at',
      'actor_kind',
      'actor_id',
      'actor_name',
      'action',
      'object',
      'detail',
    ])
    .where('organisation_id', 'in', [live.id, sandboxId])
    .orderBy('id', 'desc')
    .limit(PAGE + 1)
  if (action !== undefined) query = query.where('action', '=', action)
  if (cursor !== undefined) query = query.where('id', '<', Number(cursor))
  const rows = await query.execute()
  const page = rows.slice(0, PAGE)
  const more = rows.length > PAGE
  return {
    object: 'list',
    data: page.map((row) => ({
      object: 'audit_entry',
      id: String(row.id),
      at: row.at.toISOString(),
      sandbox: row.organisation_id === sandboxId,
      actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
      action: row.action,
      target: row.object,
      detail: row.detail,
    })),
    has_more: more,
    next_cursor: more ? String(page.at(-1)?.id) : null,
  }
}
