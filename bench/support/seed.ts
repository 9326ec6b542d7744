import pg from 'pg'
import { databaseOf, type Service } from './service.ts'

// Sessions as a year of use leaves them: 50 devices of 20 sites, some far busier than others, nearly all
// processed, uploaded soon after they were recorded but for a few, 8 of 40 channels and up to 3 of 10 issues each.

/** Values that a tenth of the sessions or more have, so that a page of them is full among 1,000 too. */
export const seeded = { site: 'site-0', device: 'device-0', channel: 'channel-7', issue: 'issue_3' }

const insertSessions = `
with channel_sets as materialized (
  select first_channel, array(select 'channel-' || (first_channel + step) % 40 from generate_series(0, 7) step) as channels
  from generate_series(0, 39) first_channel
), issue_sets as materialized (
  select first_issue, issue_count, coalesce((
    select jsonb_agg(jsonb_build_object('code', 'issue_' || (first_issue + step) % 10, 'severity', 'warning',
      'channel', 'channel-' || first_issue, 'detail', 'messages are missing between two times'))
    from generate_series(1, issue_count) step), '[]') as issues
  from generate_series(0, 9) first_issue, generate_series(0, 3) issue_count
), chances as (
  select n, date_trunc('milliseconds', now() - (n::float8 / $2) * interval '365 days') as created_at,
    floor(50 * random() ^ 2)::integer as device,
    floor(40 * random())::integer as first_channel,
    floor(10 * random())::integer as first_issue,
    greatest(0, floor(6 * random()) - 2)::integer as issue_count,
    random() as fate,
    case when random() < 0.02 then 30 else 0.1 end * random() * interval '1 day' as waited
  from generate_series(1, $2::integer) n
), plans as (
  select *, case when fate < 0.07 then 'failed' when fate < 0.09 then 'uploading' when fate < 0.1 then 'processing'
    else 'processed' end as status, fate < 0.07 or fate >= 0.1 as done
  from chances join channel_sets using (first_channel) join issue_sets using (first_issue, issue_count)
)
insert into sessions (id, organisation_id, site, device, filename, bytes, sha256, part_size, part_count, status,
  recorded_at, duration_s, channels, segment_count, issues, created_at, processed_at)
select 'ses_' || lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || left(md5(n::text), 24),
  $1, 'site-' || device % 20, 'device-' || device, 'run-' || n || '.mcap', 2000000000, sha256(n::text::bytea),
  64 * 1048576, 30, status,
  case when done then created_at - waited end, case when done then 600 * fate end,
  case when done then channels else '{}' end, case when done then 20 else 0 end,
  case when done then issues else '[]' end,
  created_at, case when done then created_at + interval '1 minute' end
from plans order by n desc`

// In the order of time, which is that of the rows: each value grows at the end of its stretch of the index.
const insertFacets = [
  `insert into session_facets (organisation_id, facet, value, created_at, session_id)
    select organisation_id, 'channel', channel, created_at, id from sessions, unnest(channels) channel`,
  `insert into session_facets (organisation_id, facet, value, created_at, session_id)
    select organisation_id, 'issue', issue ->> 'code', created_at, id
    from sessions, jsonb_array_elements(issues) issue`,
]

/** Fills the service's database directly; returns the organisation of its key. */
export async function seed(service: Service, count: number): Promise<string> {
  const client = new pg.Client(await databaseOf(service.dataDir))
  await client.connect()
  try {
    const live = await client.query(`select organisation_id as id from api_keys where mode = 'live'`)
    const organisationId: string = live.rows[0].id
    // What the rows refer to is known to be there: checking it for each takes longer than all the rest.
    await client.query(`set session_replication_role = replica`)
    await client.query(`set maintenance_work_mem = '512MB'; select setseed(0.5)`)
    await client.query(`alter system set max_wal_size = '16GB'`)
    await client.query('select pg_reload_conf()')
    await withoutIndexes(client, 'sessions', () => client.query(insertSessions, [organisationId, count]))
    // Read like any other table, and filled without a log of 8 million rows.
    await client.query('alter table session_facets set unlogged')
    await withoutIndexes(client, 'session_facets', async () => {
      for (const statement of insertFacets) await client.query(statement)
    })
    // Now, so that PostgreSQL does not begin with either while we measure.
    await client.query('vacuum (freeze, analyze) sessions, session_facets')
    await client.query('checkpoint')
    return organisationId
  } finally {
    await client.end()
  }
}

/** Indexes are made faster than they are kept up to date. Those of constraints stay. */
export async function withoutIndexes(
  client: pg.Client,
  table: string,
  fill: () => Promise<unknown>,
): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = $1::regclass and not indisunique`,
    [table],
  )
  for (const { name } of rows) await client.query(`drop index ${name}`)
  await fill()
  for (const { definition } of rows) await client.query(definition)
}
