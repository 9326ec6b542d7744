import { hash } from 'node:crypto'
import type {
  CreatedInvitation,
  CreateInvitation,
  Invitation,
  InvitationPreview,
  Joined,
  Role,
} from '@tapedeck/contract'
import { type Expression, type SqlBool, sql } from 'kysely'
import { type Actor, commandLine, recordChange } from '../access/audit.ts'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { newId, newInvitationToken } from '../ids.ts'
import type { Account } from './accounts.ts'
import type { Member } from './member.ts'

// A link makes its holder a member, once. Its token stands behind the #, which browsers send to nobody, and only its
// hash is stored. Owners make them, and the operator; the one without an end is the service's own, to the first account.

type Deps = { db: Db; clock: Clock; consoleUrl: () => string }

const VALID_DAYS = 7
const ACCEPT_LOCK = 8_420_002

export async function createInvitation(
  deps: Deps,
  by: Member,
  { role, label }: CreateInvitation,
): Promise<CreatedInvitation> {
  return deps.db.transaction().execute(async (trx) => {
    const made = await insert(deps, trx, {
      organisationId: by.live.id,
      role,
      label,
      invitedBy: by.id,
      ends: true,
    })
    await recordChange(trx, {
      organisationId: by.live.id,
      actor: by,
      action: 'invitation.created',
      object: made.id,
      detail: `${label} (${role})`,
    })
    return { ...toObject({ ...made, role, label, inviter: by.name }), url: made.url }
  })
}

/** By the operator: how a new organisation gets its first owner, and one that has lost its owners another. */
export async function inviteAsOperator(
  deps: Deps,
  organisation: string,
  role: Role,
): Promise<{ url: string; expiresAt: Date | null }> {
  return deps.db.transaction().execute(async (trx) => {
    const live = await trx
      .selectFrom('organisations')
      .select('id')
      .where('name', '=', organisation)
      .where('sandbox_of', 'is', null)
      .executeTakeFirst()
    if (!live) throw new Error(`there is no organisation ${organisation}; see: tapedeck orgs list`)
    const made = await insert(deps, trx, {
      organisationId: live.id,
      role,
      label: 'by the operator',
      invitedBy: null,
      ends: true,
    })
    await recordChange(trx, {
      organisationId: live.id,
      actor: commandLine,
      action: 'invitation.created',
      object: made.id,
      detail: `by the operator (${role})`,
    })
    return { url: made.url, expiresAt: made.expires_at }
  })
}

/** Those that can still be used. */
export async function listInvitations(db: Db, { live }: Member): Promise<Invitation[]> {
  const rows = await db
    .selectFrom('invitations')
    .leftJoin('auth.user as user', 'user.id', 'invitations.invited_by')
    .select(['invitations.id', 'role', 'label', 'created_at', 'expires_at'])
    .select(sql<string>`coalesce("user".email, ${commandLine.name})`.as('inviter'))
    .where('organisation_id', '=', live.id)
    .where('expires_at', 'is not', null)
    .where(isOpen)
    .orderBy('created_at', 'desc')
    .execute()
  return rows.map(toObject)
}

export async function revokeInvitation(db: Db, by: Member, id: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('invitations')
      .set({ revoked_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('organisation_id', '=', by.live.id)
      .where(isOpen)
      .returning('label')
      .executeTakeFirst()
    if (!row) throw unknown()
    await recordChange(trx, {
      organisationId: by.live.id,
      actor: by,
      action: 'invitation.revoked',
      object: id,
      detail: row.label,
    })
  })
}

export async function previewInvitation(db: Db, token: string): Promise<InvitationPreview> {
  const row = await db
    .selectFrom('invitations')
    .innerJoin('organisations', 'organisations.id', 'invitations.organisation_id')
    .select(['organisations.name as organisation', 'role', 'label'])
    .where('hash', '=', hashToken(token))
    .where(isOpen)
    .executeTakeFirst()
  if (!row) throw unknown()
  return { object: 'invitation_preview', ...row }
}

/** Uses the invitation up. Who is a member already keeps the better of both roles. */
export async function acceptInvitation(db: Db, account: Account, token: string): Promise<Joined> {
  return db.transaction().execute(async (trx) => {
    // One after the other: of two links to the first account the second must see what the first has made.
    await sql`select pg_advisory_xact_lock(${ACCEPT_LOCK})`.execute(trx)
    const row = await trx
      .updateTable('invitations')
      .set({ accepted_at: sql<Date>`now()` })
      .where('hash', '=', hashToken(token))
      .where(isOpen)
      .returning(['organisation_id', 'role', 'expires_at'])
      .executeTakeFirst()
    if (!row) throw unknown()
    await addMember(trx, row.organisation_id, account, row.role)
    if (row.expires_at === null) await endFirstLinks(trx)
    const { name } = await trx
      .selectFrom('organisations')
      .select('name')
      .where('id', '=', row.organisation_id)
      .executeTakeFirstOrThrow()
    return { object: 'joined', organisation: name }
  })
}

/** While nobody owns anything: a link that makes the first owner. Every start makes one, because none can be read back. */
export async function makeFirstLink(deps: Deps, organisation: string): Promise<string | undefined> {
  const live = await deps.db
    .selectFrom('organisations')
    .select('id')
    .where('sandbox_of', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('memberships').select('user_id').where('role', '=', 'owner'))),
    )
    .orderBy(sql`name <> ${organisation}`)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  if (!live) return undefined
  const made = await insert(deps, deps.db, {
    organisationId: live.id,
    role: 'owner',
    label: 'first account',
    invitedBy: null,
    ends: false,
  })
  return made.url
}

/** Whether anybody can sign in with a say over anything. */
export async function hasOwner(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('memberships')
    .select('user_id')
    .where('role', '=', 'owner')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

type New = { organisationId: string; role: Role; label: string; invitedBy: string | null; ends: boolean }

async function insert(
  { clock, consoleUrl }: Deps,
  db: Db,
  { organisationId, role, label, invitedBy, ends }: New,
) {
  const token = newInvitationToken()
  const id = newId('inv', clock.now())
  const times = await db
    .insertInto('invitations')
    .values({
      id,
      organisation_id: organisationId,
      role,
      label,
      hash: hashToken(token),
      invited_by: invitedBy,
      expires_at: !ends ? null : sql<Date>`now() + ${VALID_DAYS} * interval '1 day'`,
    })
    .returning(['created_at', 'expires_at'])
    .executeTakeFirstOrThrow()
  return { id, ...times, url: `${consoleUrl()}/join#${token}` }
}

async function addMember(db: Db, organisationId: string, account: Account, role: Role): Promise<void> {
  await db
    .insertInto('memberships')
    .values({ organisation_id: organisationId, user_id: account.id, role })
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'user_id']).doUpdateSet({
        role: sql<Role>`case when 'owner' in (memberships.role, excluded.role) then 'owner'
          when 'member' in (memberships.role, excluded.role) then 'member' else 'viewer' end`,
      }),
    )
    .execute()
  const actor: Actor = { kind: 'member', id: account.id, name: account.email }
  await recordChange(db, {
    organisationId,
    actor,
    action: 'member.joined',
    object: account.id,
    detail: `${account.email} (${role})`,
  })
}

/** Only one link makes the first owner. */
async function endFirstLinks(db: Db): Promise<void> {
  await db
    .updateTable('invitations')
    .set({ revoked_at: sql<Date>`now()` })
    .where('expires_at', 'is', null)
    .where('accepted_at', 'is', null)
    .execute()
}

function isOpen(): Expression<SqlBool> {
  return sql<SqlBool>`accepted_at is null and revoked_at is null and (expires_at is null or expires_at > now())
    and (expires_at is not null or not exists (select 1 from memberships where role = 'owner'))`
}

function toObject(row: {
  id: string
  role: Role
  label: string
  inviter: string
  created_at: Date
  expires_at: Date | null
}): Invitation {
  return {
    object: 'invitation',
    id: row.id,
    role: row.role,
    label: row.label,
    invited_by: row.inviter,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? '',
  }
}

function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

function unknown(): ApiError {
  return new ApiError(
    'invitation_not_found',
    'this link was used or withdrawn, or has expired; ask an owner for a new one',
    { param: 'token' },
  )
}
