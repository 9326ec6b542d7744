import {
  ChangeMember,
  ChangePassword,
  type ConsoleList,
  CreateApiKey,
  CreateInvitation,
  InvitationToken,
  Join,
  ListAuditLog,
  type Me,
  SignIn,
  SignInElsewhere,
  type SignInOptions,
} from '@tapedeck/contract'
import type { Clock } from '../clock.ts'
import type { Account, Accounts } from '../console/accounts.ts'
import { listAuditLog } from '../console/audit-log.ts'
import {
  acceptInvitation,
  createInvitation,
  hasOwner,
  listInvitations,
  previewInvitation,
  revokeInvitation,
} from '../console/invitations.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../console/keys.ts'
import { changeRole, listMembers, listMyOrganisations, removeMember } from '../console/member.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { type ConsoleOperation, forAccount, forAnybody, forMember, type Keep } from './console-operation.ts'
import { Nothing } from './operation.ts'

type Deps = {
  db: Db
  clock: Clock
  accounts: Accounts
  consoleUrl: () => string
  spendSignIn(email: string): Promise<void>
}

/** What the console asks for beyond the public API. */
export function consoleOperations(deps: Deps): ConsoleOperation[] {
  return [...signingIn(deps), ...ownAccount(deps), ...organisation(deps)]
}

function signingIn(deps: Deps): ConsoleOperation[] {
  const { db, accounts } = deps
  return [
    forAnybody('GET', '/sign_in_options', Nothing, async (): Promise<SignInOptions> => {
      accounts.prepare()
      const needsFirst = !(await hasOwner(db))
      return { object: 'sign_in_options', elsewhere: accounts.elsewhere, needs_first_account: needsFirst }
    }),
    forAnybody('POST', '/sign_in', SignIn, async ({ client, body, keep }) => {
      await deps.spendSignIn(body.email)
      keep(await accounts.signIn(client, body))
      return done
    }),
    forAnybody('POST', '/sign_in/elsewhere', SignInElsewhere, async ({ client, body, keep }) => {
      if (!accounts.elsewhere) throw new ApiError('route_unknown', 'no other way to sign in is set up')
      const { url, cookies } = await accounts.beginElsewhere(client, body.return_to)
      keep(cookies)
      return { object: 'redirect', url }
    }),
    forAnybody('POST', '/invitation_preview', InvitationToken, ({ body }) =>
      previewInvitation(db, body.token),
    ),
    forAnybody('POST', '/join', Join, async ({ client, body, keep }) => {
      await previewInvitation(db, body.token)
      return join(deps, await accounts.signUp(client, body), body.token, keep)
    }),
  ]
}

const done = { object: 'done' } as const

/** An account whose invitation was used by somebody else in the same moment is taken back. */
async function join(
  { db, accounts }: Deps,
  { account, cookies }: { account: Account; cookies: string[] },
  token: string,
  keep: Keep,
) {
  try {
    const joined = await acceptInvitation(db, account, token)
    keep(cookies)
    return joined
  } catch (error) {
    await accounts.undo(account)
    throw error
  }
}

function ownAccount({ db, accounts }: Deps): ConsoleOperation[] {
  return [
    forAccount('GET', '/me', Nothing, async ({ client, keep }, account): Promise<Me> => {
      keep((await accounts.find(client, true))?.cookies ?? [])
      return { object: 'me', ...account, organisations: await listMyOrganisations(db, account) }
    }),
    forAccount('POST', '/join/account', InvitationToken, ({ body }, account) =>
      acceptInvitation(db, account, body.token),
    ),
    forAccount('POST', '/password', ChangePassword, async ({ client, body, keep }) => {
      keep(
        await accounts.changePassword(client, { current: body.current_password, wanted: body.new_password }),
      )
      return done
    }),
    forAccount('POST', '/sign_out', Nothing, async ({ client, keep }) => {
      keep(await accounts.signOut(client))
      return done
    }),
    forAccount('POST', '/sign_out_everywhere', Nothing, async ({ client, keep }) => {
      keep(await accounts.signOutEverywhere(client))
      return done
    }),
  ]
}

function organisation(deps: Deps): ConsoleOperation[] {
  const { db } = deps
  return [
    forMember('viewer', 'GET', '/keys', Nothing, async (_, member) => whole(await listApiKeys(db, member))),
    forMember('member', 'POST', '/keys', CreateApiKey, ({ body }, member) =>
      createApiKey(deps, member, body),
    ),
    forMember('member', 'POST', '/keys/:id/revoke', Nothing, ({ id }, member) =>
      revokeApiKey(db, member, id),
    ),
    forMember('viewer', 'GET', '/members', Nothing, async (_, member) =>
      whole(await listMembers(db, member)),
    ),
    forMember('owner', 'PATCH', '/members/:id', ChangeMember, async ({ id, body }, member) => {
      await changeRole(db, member, id, body.role)
      return done
    }),
    forMember('viewer', 'DELETE', '/members/:id', Nothing, async ({ id }, member) => {
      await removeMember(db, member, id)
      return done
    }),
    forMember('owner', 'GET', '/invitations', Nothing, async (_, member) =>
      whole(await listInvitations(db, member)),
    ),
    forMember('owner', 'POST', '/invitations', CreateInvitation, ({ body }, member) =>
      createInvitation(deps, member, body),
    ),
    forMember('owner', 'DELETE', '/invitations/:id', Nothing, async ({ id }, member) => {
      await revokeInvitation(db, member, id)
      return done
    }),
    forMember(
      'owner',
      'GET',
      '/audit_log',
      Nothing,
      ({ query }, member) => listAuditLog(db, member, query),
      ListAuditLog,
    ),
  ]
}

function whole<T>(data: T[]): ConsoleList<T> {
  return { object: 'list', data, has_more: false, next_cursor: null }
}
