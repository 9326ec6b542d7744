-- Organisations and their keys. Every organisation has a sandbox twin that its test keys reach.
create table organisations (
  id text primary key,
  name text not null unique,
  sandbox_of text unique references organisations,
  created_at timestamptz(3) not null default now()
);

create table api_keys (
  id text primary key,
  organisation_id text not null references organisations,
  name text not null,
  mode text not null check (mode in ('live', 'test')),
  permissions text[] not null check (permissions in (array['read'], array['read', 'write'])),
  hash bytea not null unique,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3)
);
create index api_keys_of_organisation on api_keys (organisation_id, created_at);

-- A process of the service. What it has claimed is its own while it keeps being seen.
create table nodes (
  id bigint generated always as identity primary key,
  seen_at timestamptz not null default now()
);

create table sites (
  organisation_id text not null,
  name text not null,
  created_at timestamptz(3) not null default now(),
  primary key (organisation_id, name)
);

-- No foreign key to organisations here: it would lock one row for every session created.
create table sessions (
  id text primary key,
  organisation_id text not null,
  site text not null,
  device text,
  filename text not null,
  bytes bigint not null check (bytes > 0),
  sha256 bytea not null check (length(sha256) = 32),
  part_size integer not null,
  part_count integer not null,
  status text not null default 'uploading'
    check (status in ('uploading', 'uploaded', 'processing', 'processed', 'failed')),
  recorded_at timestamptz(3),
  duration_s double precision,
  channels text[] not null default '{}',
  segment_count integer not null default 0,
  issues jsonb not null default '[]',
  notes text,
  -- Whole milliseconds, as clients see them, so that a time read from one session can be a filter for others.
  created_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  processed_at timestamptz(3),
  -- Which completion is running, and on which node.
  completing_node bigint,
  completing_claim text
);
create index sessions_newest on sessions (organisation_id, created_at, id);
create index sessions_by_site on sessions (organisation_id, site, created_at, id);
create index sessions_by_device on sessions (organisation_id, device, created_at, id) where device is not null;
create index sessions_by_status on sessions (organisation_id, status, created_at, id);
-- A range of one time in the order of the other: a B-tree has to read all of one of them, this one finds the nearest.
create extension if not exists btree_gist;
create index sessions_by_recorded on sessions using gist (organisation_id, created_at, recorded_at) where recorded_at is not null;
create index sessions_waiting on sessions (created_at) where status = 'uploaded';

-- One row for each channel and each issue code of a session, in the order that lists are read.
create table session_facets (
  organisation_id text not null,
  facet text not null check (facet in ('channel', 'issue')),
  value text not null,
  created_at timestamptz(3) not null,
  session_id text not null references sessions on delete cascade,
  primary key (organisation_id, facet, value, created_at, session_id)
);
create index session_facets_of_session on session_facets (session_id);

create table parts (
  session_id text not null references sessions on delete cascade,
  number integer not null,
  bytes integer not null,
  sha256 bytea not null check (length(sha256) = 32),
  object text not null,
  received_at timestamptz(3) not null default now(),
  primary key (session_id, number)
);

-- `node_id` and `claim` are set while the request runs, `response` when it has succeeded (encrypted).
create table idempotency_keys (
  organisation_id text not null,
  key text not null,
  request_hash bytea not null,
  node_id bigint,
  claim text,
  response bytea,
  created_at timestamptz not null default now(),
  primary key (organisation_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- One row: whether completed sessions are let in to processing.
create table processing_gate (
  only_row boolean primary key default true check (only_row),
  paused boolean not null default false
);
insert into processing_gate default values;
