-- oldest code: 0005
-- The schema that the code of a node was written for.
alter table nodes add column schema_version integer;
