-- How far processing is, and with what the result was made.
alter table sessions
  add column processing_stage text,
  add column processing_fraction real,
  add column format text,
  add column processor jsonb,
  add column search tsvector generated always as (
    to_tsvector('simple', coalesce(notes, '') || ' ' || filename || ' ' || site || ' ' || translate(filename, '._-/', '    '))
  ) stored;
create index sessions_by_text on sessions using gin (search);

create table channels (
  session_id text not null references sessions on delete cascade,
  position integer not null,
  name text not null,
  kind text not null,
  topic text not null,
  schema text not null,
  encoding text not null,
  message_count bigint not null,
  bytes bigint not null,
  first_ns bigint,
  last_ns bigint,
  rate_hz double precision,
  jitter_ns double precision,
  largest_gap_ns double precision,
  clock jsonb,
  primary key (session_id, position)
);

-- Counts of messages in equal bins, one row of 32-bit little-endian numbers for each channel, compressed.
create table timelines (
  session_id text primary key references sessions on delete cascade,
  start_ns bigint not null,
  bin_ns double precision not null,
  bin_count integer not null,
  counts bytea not null
);

-- Site, device and the time of creation are those of the session, so that one index answers one filter in order.
create table segments (
  id text primary key,
  organisation_id text not null,
  session_id text not null references sessions on delete cascade,
  position integer not null,
  start_ns bigint not null,
  end_ns bigint not null,
  started_at timestamptz(3),
  duration_s double precision not null,
  cut text not null,
  label text not null,
  site text not null,
  device text,
  channels jsonb not null,
  channel_names text[] not null,
  kinds text[] not null,
  issues text[] not null,
  severities text[] not null,
  message_count bigint not null,
  activity real not null,
  created_at timestamptz(3) not null
);
create unique index segments_of_session on segments (session_id, position);
create index segments_newest on segments (organisation_id, created_at, id);
create index segments_by_site on segments (organisation_id, site, created_at, id);
create index segments_by_device on segments (organisation_id, device, created_at, id) where device is not null;
create index segments_by_start on segments (organisation_id, started_at) where started_at is not null;
create index segments_by_channel on segments using gin (channel_names);
create index segments_by_issue on segments using gin (issues);

-- Calibrations of devices: every version is kept, the last one counts.
create table calibrations (
  organisation_id text not null,
  device text not null,
  version integer not null,
  body jsonb not null,
  created_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  primary key (organisation_id, device, version)
);

-- When the sample recordings were put into a sandbox.
alter table organisations add column seeded_at timestamptz;
