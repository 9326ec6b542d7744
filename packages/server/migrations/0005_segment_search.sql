-- Segments are listed in the order of their sessions, so what leads to sessions leads to them: kinds of channels and
-- severities of issues are facets of a session too.
alter table session_facets
  drop constraint session_facets_facet_check,
  add constraint session_facets_facet_check check (facet in ('channel', 'issue', 'kind', 'severity'));
insert into session_facets (organisation_id, facet, value, created_at, session_id)
  select distinct organisation_id, 'kind', kind, created_at, id
  from sessions join channels on channels.session_id = sessions.id;
insert into session_facets (organisation_id, facet, value, created_at, session_id)
  select distinct organisation_id, 'severity', issue ->> 'severity', created_at, id
  from sessions, jsonb_array_elements(issues) issue;

-- A GIN index finds them without an order, and all that match have to be sorted.
drop index segments_by_channel, segments_by_issue, segments_by_start;
-- A range of one thing in the order of another.
create index segments_by_start on segments using gist (organisation_id, started_at, created_at)
  where started_at is not null;
create index segments_by_duration on segments using gist (organisation_id, duration_s, created_at);
