import type { ApiKey, CreateApiKey, CreatedApiKey } from '@tapedeck/contract'
import { createKey, revokeKey } from '../access/keys.ts'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import type { Member } from './member.ts'

const columns = ['id', 'name', 'mode', 'permissions', 'created_at', 'last_used_at', 'revoked_at'] as const

/** The keys of the organisation and of its sandbox, newest first. */
export async function listApiKeys(db: Db, member: Member): Promise<ApiKey[]> {
  const rows = await keysOf(db, member).orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
  return rows.map(toObject)
}

export async function createApiKey(
  { db, clock }: { db: Db; clock: Clock },
  member: Member,
  input: CreateApiKey,
): Promise<CreatedApiKey> {
  const { key, id } = await createKey(
    db,
    clock,
    {
      organisation: member.live.name,
      name: input.name,
      mode: input.mode,
      permissions: input.write ? ['read', 'write'] : ['read'],
    },
    member,
  )
  const row = await keysOf(db, member).where('id', '=', id).executeTakeFirstOrThrow()
  return { ...toObject(row), key }
}

export async function revokeApiKey(db: Db, member: Member, id: string): Promise<ApiKey> {
  const known = await keysOf(db, member).where('id', '=', id).executeTakeFirst()
  if (!known) throw new ApiError('key_not_found', `the organisation has no key ${id.slice(0, 100)}`)
  await revokeKey(db, id, member)
  return toObject(await keysOf(db, member).where('id', '=', id).executeTakeFirstOrThrow())
}

function keysOf(db: Db, { live, sandboxId }: Member) {
  return db.selectFrom('api_keys').select(columns).where('organisation_id', 'in', [live.id, sandboxId])
}

function toObject(row: Awaited<ReturnType<ReturnType<typeof keysOf>['executeTakeFirstOrThrow']>>): ApiKey {
  return {
    object: 'api_key',
    id: row.id,
    name: row.name,
    mode: row.mode,
    write: row.permissions.includes('write'),
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  }
}
