import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { newId, newKey } from '../ids.ts'
import { type Actor, commandLine, recordChange } from './audit.ts'

export type Permission = 'read' | 'write'

export type NewKey = { organisation: string; permissions: Permission[]; mode: 'live' | 'test'; name: string }

export type CreatedKey = { key: string; id: string; organisation: string; permissions: Permission[] }

export type KeyRecord = {
  id: string
  organisation: string
  name: string
  mode: 'live' | 'test'
  permissions: string[]
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

/**
 * How long a node may go on trusting what it read of a key. `revokeKey` returns only when this has passed,
 * so a revocation that was acknowledged holds on every node, and no request has to ask the database.
 */
export const KEY_LEASE_MS = 1_000

const MAX_KEY_NAME_CHARACTERS = 255

export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** Makes a key and returns it in full, the only time that it is ever shown. */
export async function createKey(
  db: Db,
  clock: Clock,
  input: NewKey,
  actor: Actor = commandLine,
): Promise<CreatedKey> {
  if (input.name.length > MAX_KEY_NAME_CHARACTERS) {
    throw new Error(`the name of a key has at most ${MAX_KEY_NAME_CHARACTERS} characters`)
  }
  const organisation = await db
    .selectFrom('organisations as live')
    .leftJoin('organisations as sandbox', 'sandbox.sandbox_of', 'live.id')
    .select(['live.id', 'sandbox.id as sandbox_id'])
    .where('live.name', '=', input.organisation)
    .where('live.sandbox_of', 'is', null)
    .executeTakeFirst()
  const owner = input.mode === 'live' ? organisation?.id : organisation?.sandbox_id
  if (!owner) throw new Error(`there is no organisation ${input.organisation}; see: tapedeck orgs list`)
  const key = newKey(input.mode)
  const id = newId('key', clock.now())
  await db.transaction().execute(async (trx) => {
    await trx
      .insertInto('api_keys')
      .values({
        id,
        organisation_id: owner,
        name: input.name,
        mode: input.mode,
        permissions: input.permissions,
        hash: hashKey(key),
      })
      .execute()
    const detail = `${input.name} (${input.mode}, ${input.permissions.join(',')})`
    await recordChange(trx, { organisationId: owner, actor, action: 'key.created', object: id, detail })
  })
  return { key, id, organisation: input.organisation, permissions: input.permissions }
}

export async function listKeys(db: Db, organisation?: string): Promise<KeyRecord[]> {
  let query = db
    .selectFrom('api_keys as key')
    .innerJoin('organisations as owner', 'owner.id', 'key.organisation_id')
    .leftJoin('organisations as live', 'live.id', 'owner.sandbox_of')
    .select([
      'key.id',
      'key.name',
      'key.mode',
      'key.permissions',
      'key.created_at',
      'key.last_used_at',
      'key.revoked_at',
    ])
    .select(sql<string>`coalesce(live.name, owner.name)`.as('organisation'))
    .orderBy('key.created_at')
    .orderBy('key.id')
  if (organisation !== undefined) query = query.where(sql`coalesce(live.name, owner.name)`, '=', organisation)
  const rows = await query.execute()
  return rows.map((row) => ({
    id: row.id,
    organisation: row.organisation,
    name: row.name,
    mode: row.mode,
    permissions: row.permissions,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }))
}

/** Revokes a key; once this returns, no node takes it any more. Revoking again changes nothing. */
export async function revokeKey(
  db: Db,
  id: string,
  actor: Actor = commandLine,
): Promise<'revoked' | 'unknown'> {
  const known = await db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('api_keys')
      .set({ revoked_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .returning(['organisation_id', 'name'])
      .executeTakeFirst()
    if (!row) return isKey(trx, id)
    await recordChange(trx, {
      organisationId: row.organisation_id,
      actor,
      action: 'key.revoked',
      object: id,
      detail: row.name,
    })
    return true
  })
  if (!known) return 'unknown'
  await delay(KEY_LEASE_MS)
  return 'revoked'
}

async function isKey(db: Db, id: string): Promise<boolean> {
  return (await db.selectFrom('api_keys').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}
