-- oldest code: 0005
-- The nodes that serve the API share its limits of requests; one that only works on jobs has no share.
alter table nodes add column serves_api boolean not null default true;

-- Events are kept for so many days, and their deliveries with them.
create index if not exists events_by_age on events (created_at, id);

-- Sessions that were deleted here. What is left of their objects may go; objects of a session that this database has
-- never known may not: they are another database's, or newer than the backup that this one was restored from.
create table deleted_sessions (
  session_id text primary key,
  deleted_at timestamptz not null default now()
);
create index deleted_sessions_by_age on deleted_sessions (deleted_at);
create function remember_deleted_session() returns trigger language plpgsql as $$
begin
  insert into deleted_sessions (session_id) values (old.id) on conflict do nothing;
  return null;
end $$;
create trigger remember_deleted_session after delete on sessions
  for each row execute function remember_deleted_session();

-- Walks over all objects that storage has, one at a time. `place`: all that comes before it was looked at.
create table collections (
  id bigint generated always as identity primary key,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  node_id bigint,
  place text not null default '',
  seen bigint not null default 0,
  removed bigint not null default 0,
  unknown bigint not null default 0
);
create unique index collections_under_way on collections ((ended_at is null)) where ended_at is null;
