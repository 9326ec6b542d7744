-- Accounts and their sign-ins, as better-auth expects them; a test compares. Nothing else reads or writes them but for
-- name and address of a user.
create schema auth;

create table auth."user" (
  "id" text not null primary key,
  "name" text not null,
  "email" text not null unique,
  "emailVerified" boolean not null,
  "image" text,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz default current_timestamp not null
);

create table auth."session" (
  "id" text not null primary key,
  "expiresAt" timestamptz not null,
  "token" text not null unique,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz not null,
  "ipAddress" text,
  "userAgent" text,
  "userId" text not null references auth."user" ("id") on delete cascade
);
create index "session_userId_idx" on auth."session" ("userId");

create table auth."account" (
  "id" text not null primary key,
  "accountId" text not null,
  "providerId" text not null,
  "userId" text not null references auth."user" ("id") on delete cascade,
  "accessToken" text,
  "refreshToken" text,
  "idToken" text,
  "accessTokenExpiresAt" timestamptz,
  "refreshTokenExpiresAt" timestamptz,
  "scope" text,
  "password" text,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz not null
);
create index "account_userId_idx" on auth."account" ("userId");

create table auth."verification" (
  "id" text not null primary key,
  "identifier" text not null,
  "value" text not null,
  "expiresAt" timestamptz not null,
  "createdAt" timestamptz default current_timestamp not null,
  "updatedAt" timestamptz default current_timestamp not null
);
create index "verification_identifier_idx" on auth."verification" ("identifier");

create table auth."rateLimit" (
  "id" text not null primary key,
  "key" text not null unique,
  "count" integer not null,
  "lastRequest" bigint not null
);

-- Who belongs to an organisation, and with that to its sandbox.
create table memberships (
  organisation_id text not null references organisations,
  user_id text not null references auth."user" on delete cascade,
  role text not null check (role in ('owner', 'member', 'viewer')),
  created_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  primary key (organisation_id, user_id)
);
create index memberships_of_user on memberships (user_id);

-- Links that make their holder a member, once. Without an inviter it is the link to the first account, which the
-- service itself makes: it holds until the organisation has an owner.
create table invitations (
  id text primary key,
  organisation_id text not null references organisations,
  role text not null check (role in ('owner', 'member', 'viewer')),
  label text not null,
  hash bytea not null unique,
  invited_by text references auth."user" on delete cascade,
  created_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  expires_at timestamptz(3),
  accepted_at timestamptz(3),
  revoked_at timestamptz(3)
);
create index invitations_newest on invitations (organisation_id, created_at);

-- Every change, written in its transaction. Names as they were then: what is told of may be gone.
create table audit_log (
  id bigint generated always as identity primary key,
  organisation_id text not null,
  at timestamptz(3) not null default date_trunc('milliseconds', now()),
  actor_kind text not null check (actor_kind in ('key', 'member', 'command', 'service')),
  actor_id text not null,
  actor_name text not null,
  action text not null,
  object text not null,
  detail text not null,
  request_id text not null
);
create index audit_log_newest on audit_log (organisation_id, id);
