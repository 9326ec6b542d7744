import type { Member as MemberObject, MyOrganisation, Role } from '@tapedeck/contract'
import { sql } from 'kysely'
import { recordChange } from '../access/audit.ts'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import type { Account } from './accounts.ts'

/** Somebody who is signed in, in the organisation that they ask for: the live one, or its sandbox. */
export type Member = Caller & {
  role: Role
  live: { id: string; name: string }
  sandboxId: string
}

/** Read for every request: a membership that was taken away ends with the next one. */
export async function findMember(db: Db, account: Account, organisationId: string): Promise<Member> {
  const row = await db
    .selectFrom('organisations as asked')
    .innerJoin('organisations as live', (join) =>
      join.on('live.id', '=', sql<string>`coalesce(asked.sandbox_of, asked.id)`),
    )
    .innerJoin('organisations as sandbox', 'sandbox.sandbox_of', 'live.id')
    .innerJoin('memberships', 'memberships.organisation_id', 'live.id')
    .select(['live.id', 'live.name', 'sandbox.id as sandbox_id', 'memberships.role'])
    .where('asked.id', '=', organisationId)
    .where('memberships.user_id', '=', account.id)
    .executeTakeFirst()
  if (!row) {
    throw new ApiError('membership_required', `${account.email} is not a member of this organisation`)
  }
  return {
    kind: 'member',
    id: account.id,
    name: account.email,
    organisationId,
    mayWrite: row.role !== 'viewer',
    role: row.role,
    live: { id: row.id, name: row.name },
    sandboxId: row.sandbox_id,
  }
}

export async function listMyOrganisations(db: Db, account: Account): Promise<MyOrganisation[]> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('organisations as live', 'live.id', 'memberships.organisation_id')
    .innerJoin('organisations as sandbox', 'sandbox.sandbox_of', 'live.id')
    .select(['live.id', 'live.name', 'sandbox.id as sandbox', 'memberships.role'])
    .where('memberships.user_id', '=', account.id)
    .orderBy('live.name')
    .execute()
  return rows
}

export async function listMembers(db: Db, { live }: Member): Promise<MemberObject[]> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('auth.user as user', 'user.id', 'memberships.user_id')
    .select(['user.id', 'user.name', 'user.email', 'memberships.role', 'memberships.created_at'])
    .where('memberships.organisation_id', '=', live.id)
    .orderBy('memberships.created_at')
    .orderBy('user.id')
    .execute()
  return rows.map(({ created_at, ...row }) => ({
    object: 'member',
    ...row,
    created_at: created_at.toISOString(),
  }))
}

export async function changeRole(db: Db, by: Member, userId: string, role: Role): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const current = await lockMember(trx, by, userId)
    if (current.role === 'owner' && role !== 'owner') await refuseLastOwner(trx, by)
    await trx
      .updateTable('memberships')
      .set({ role })
      .where('organisation_id', '=', by.live.id)
      .where('user_id', '=', userId)
      .execute()
    await recordChange(trx, {
      organisationId: by.live.id,
      actor: by,
      action: 'member.changed',
      object: userId,
      detail: `${current.email}: ${current.role} to ${role}`,
    })
  })
}

/** Owners remove anybody, everybody may leave. The links that they handed out end with them. */
export async function removeMember(db: Db, by: Member, userId: string): Promise<void> {
  if (by.role !== 'owner' && by.id !== userId) {
    throw new ApiError('owner_required', 'only owners may remove other members')
  }
  await db.transaction().execute(async (trx) => {
    const current = await lockMember(trx, by, userId)
    if (current.role === 'owner') await refuseLastOwner(trx, by)
    await trx
      .deleteFrom('memberships')
      .where('organisation_id', '=', by.live.id)
      .where('user_id', '=', userId)
      .execute()
    await trx
      .updateTable('invitations')
      .set({ revoked_at: sql<Date>`now()` })
      .where('organisation_id', '=', by.live.id)
      .where('invited_by', '=', userId)
      .where('accepted_at', 'is', null)
      .where('revoked_at', 'is', null)
      .execute()
    await recordChange(trx, {
      organisationId: by.live.id,
      actor: by,
      action: 'member.removed',
      object: userId,
      detail: current.email,
    })
  })
}

/** All memberships of the organisation are locked together, so that two owners cannot demote each other at once. */
async function lockMember(db: Db, by: Member, userId: string): Promise<{ role: Role; email: string }> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('auth.user as user', 'user.id', 'memberships.user_id')
    .select(['memberships.user_id', 'memberships.role', 'user.email'])
    .where('memberships.organisation_id', '=', by.live.id)
    .orderBy('memberships.user_id')
    .forUpdate('memberships')
    .execute()
  const found = rows.find((row) => row.user_id === userId)
  if (!found) throw new ApiError('member_not_found', `the organisation has no member ${userId.slice(0, 100)}`)
  return found
}

async function refuseLastOwner(db: Db, { live }: Member): Promise<void> {
  const { owners } = await db
    .selectFrom('memberships')
    .select((select) => select.fn.countAll<number>().as('owners'))
    .where('organisation_id', '=', live.id)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  if (owners < 2) {
    throw new ApiError(
      'last_owner',
      `${live.name} would be left without an owner; make another member an owner first`,
    )
  }
}
