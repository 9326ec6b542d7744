create table webhook_endpoints (
  id text primary key,
  organisation_id text not null references organisations,
  url text not null,
  events text[] not null,
  description text,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  -- Encrypted. The previous secret signs too until its time has passed.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_until timestamptz,
  -- A receiver that keeps timing out is left alone for a while.
  timeouts integer not null default 0,
  paused_until timestamptz,
  created_at timestamptz(3) not null default date_trunc('milliseconds', now())
);
create index webhook_endpoints_newest on webhook_endpoints (organisation_id, created_at, id);

-- `body` is what receivers get, to the byte; it is fixed when the event happens.
create table events (
  id text primary key,
  organisation_id text not null,
  type text not null,
  body text not null,
  created_at timestamptz(3) not null
);
create index events_newest on events (organisation_id, created_at, id);
create index events_by_type on events (organisation_id, type, created_at, id);

create table deliveries (
  id text primary key,
  organisation_id text not null,
  endpoint_id text not null references webhook_endpoints on delete cascade,
  event_id text not null references events on delete cascade,
  event_type text not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  -- All attempts so far, and those since the delivery was planned or asked for again.
  attempt_count integer not null default 0,
  round_attempts integer not null default 0,
  next_attempt_at timestamptz(3),
  deadline_at timestamptz not null,
  created_at timestamptz(3) not null,
  unique (event_id, endpoint_id)
);
create index deliveries_newest on deliveries (endpoint_id, created_at, id);
create index deliveries_by_status on deliveries (endpoint_id, status, created_at, id);
create index deliveries_by_type on deliveries (endpoint_id, event_type, created_at, id);

create table delivery_attempts (
  delivery_id text not null references deliveries on delete cascade,
  number integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  status integer,
  error text,
  response text not null,
  primary key (delivery_id, number)
);
