import Type from 'typebox'
import { MAX_NAME_CHARACTERS, MAX_PASSWORD_CHARACTERS, MIN_PASSWORD_CHARACTERS } from './limits.ts'
import { nameExpectation } from './names.ts'

// What the console asks for beyond the public API, at /console/api. Its pages and the service agree on it here; it may
// change with every version, and is not part of the reference.

export const roles = ['owner', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

const Email = Type.String({
  pattern: '^[^\\s@\\u0000-\\u001f\\u007f-\\u009f]{1,64}@[^\\s@\\u0000-\\u001f\\u007f-\\u009f]{1,190}$',
  expectation: 'must be an email address',
})
const Password = Type.String({
  pattern: `^[^]{${MIN_PASSWORD_CHARACTERS},${MAX_PASSWORD_CHARACTERS}}$`,
  expectation: `must have ${MIN_PASSWORD_CHARACTERS} to ${MAX_PASSWORD_CHARACTERS} characters`,
})
const AnyPassword = Type.String({
  pattern: `^[^]{1,${MAX_PASSWORD_CHARACTERS}}$`,
  expectation: `must have 1 to ${MAX_PASSWORD_CHARACTERS} characters`,
})
const PlainName = Type.String({
  pattern: `^[^\\u0000-\\u001f\\u007f-\\u009f]{1,${MAX_NAME_CHARACTERS}}$`,
  expectation: nameExpectation,
})
const RoleName = Type.Enum([...roles], { expectation: `must be one of ${roles.join(', ')}` })
const Token = Type.String({
  pattern: '^[0-9a-v]{32}$',
  expectation: 'must be the token of an invitation link',
})
/** A page of the console, never another site. */
const PagePath = Type.String({
  pattern: '^/console(/[A-Za-z0-9._~%/?=&-]{0,500})?$',
  expectation: 'must be the path of a page of the console',
})

const closed = { additionalProperties: false }

export const SignIn = Type.Object({ email: Email, password: AnyPassword }, closed)
export type SignIn = Type.Static<typeof SignIn>

export const SignInElsewhere = Type.Object({ return_to: PagePath }, closed)
export type SignInElsewhere = Type.Static<typeof SignInElsewhere>

export const InvitationToken = Type.Object({ token: Token }, closed)
export type InvitationToken = Type.Static<typeof InvitationToken>

export const Join = Type.Object({ token: Token, name: PlainName, email: Email, password: Password }, closed)
export type Join = Type.Static<typeof Join>

export const ChangePassword = Type.Object({ current_password: AnyPassword, new_password: Password }, closed)
export type ChangePassword = Type.Static<typeof ChangePassword>

export const CreateApiKey = Type.Object(
  {
    name: PlainName,
    mode: Type.Enum(['live', 'test'], { expectation: 'must be live or test' }),
    write: Type.Boolean({ expectation: 'must be true or false' }),
  },
  closed,
)
export type CreateApiKey = Type.Static<typeof CreateApiKey>

export const CreateInvitation = Type.Object({ role: RoleName, label: PlainName }, closed)
export type CreateInvitation = Type.Static<typeof CreateInvitation>

export const ChangeMember = Type.Object({ role: RoleName }, closed)
export type ChangeMember = Type.Static<typeof ChangeMember>

export const ListAuditLog = Type.Object(
  {
    action: Type.Optional(
      Type.String({
        pattern: '^[a-z_]{1,40}\\.[a-z_]{1,40}$',
        expectation: 'must be an action such as key.created',
      }),
    ),
    cursor: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,18}$', expectation: 'must be the next_cursor of a page' }),
    ),
  },
  closed,
)
export type ListAuditLog = Type.Static<typeof ListAuditLog>

/** What is known before anybody has signed in. */
export type SignInOptions = {
  object: 'sign_in_options'
  /** The name of the other way to sign in, where the operator has set one up. */
  elsewhere: string | null
  /** No owner exists: the link that the service printed makes the first account. */
  needs_first_account: boolean
}

export type Me = {
  object: 'me'
  id: string
  name: string
  email: string
  organisations: MyOrganisation[]
}
export type MyOrganisation = { id: string; name: string; sandbox: string; role: Role }

export type InvitationPreview = {
  object: 'invitation_preview'
  organisation: string
  role: Role
  label: string
}
export type Joined = { object: 'joined'; organisation: string }

export type ApiKey = {
  object: 'api_key'
  id: string
  name: string
  mode: 'live' | 'test'
  write: boolean
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
}
export type CreatedApiKey = ApiKey & { key: string }

export type Member = {
  object: 'member'
  id: string
  name: string
  email: string
  role: Role
  created_at: string
}

export type Invitation = {
  object: 'invitation'
  id: string
  role: Role
  label: string
  invited_by: string
  created_at: string
  expires_at: string
}
export type CreatedInvitation = Invitation & { url: string }

export type AuditEntry = {
  object: 'audit_entry'
  id: string
  at: string
  sandbox: boolean
  actor: { kind: 'key' | 'member' | 'command' | 'service'; id: string; name: string }
  action: string
  target: string
  detail: string
}

export type ConsoleList<T> = { object: 'list'; data: T[]; has_more: boolean; next_cursor: string | null }
