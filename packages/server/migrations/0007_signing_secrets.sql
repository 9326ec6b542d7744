-- oldest code: 0005
-- Fingerprints of the secrets that a node accepts, the one that it signs with first.
alter table nodes add column secrets text[];

-- Until when something that was signed with a secret may still be in use.
create table signing_secrets (
  fingerprint text primary key,
  needed_until timestamptz not null
);
