import pg from 'pg'
import { seed, withoutIndexes } from './seed.ts'
import { databaseOf, type Service } from './service.ts'

// Segments of the sessions that seed.ts makes, twenty of each, with the channels and issues of their session; some
// words in the notes of some.

export const SEGMENTS_PER_SESSION = 20

export const sought = {
  site: 'site-0',
  device: 'device-0',
  channel: 'channel-7',
  channels: 'channel-7,channel-8',
  rareChannel: 'channel-rare',
  issue: 'issue_3',
  word: 'pallet',
}

const insertSegments = `
insert into segments (id, organisation_id, session_id, position, start_ns, end_ns, started_at, duration_s, cut, label, site,
  device, channels, channel_names, kinds, issues, severities, message_count, activity, created_at)
select 'seg_' || substr(id, 5, 12) || lpad(to_hex(position), 4, '0') || substr(id, 17, 20), organisation_id, id, position,
  (extract(epoch from recorded_at) * 1e9)::bigint + position * 30000000000,
  (extract(epoch from recorded_at) * 1e9)::bigint + (position + 1) * 30000000000,
  recorded_at + position * interval '30 seconds', 30 - (position % 7), 'window', '', site, device,
  '[{"name": "channel-7", "message_count": 300, "rate_hz": 10}]',
  case when hashtext(id) % 50 = 0 then channels || '{channel-rare}' else channels end,
  case when position % 2 = 0 then '{camera,imu}'::text[] else '{imu,lidar}' end,
  case when position % 5 = 0 then array(select jsonb_array_elements(issues) ->> 'code') else '{}' end,
  case when position % 5 = 0 and issues <> '[]' then '{warning}'::text[] else '{}' end,
  6000, 0.9, created_at
from sessions, generate_series(0, ${SEGMENTS_PER_SESSION - 1}) position
where status = 'processed' order by created_at`

/** Of what only segments are asked for. */
const insertFacets = `
insert into session_facets (organisation_id, facet, value, created_at, session_id)
  select distinct organisation_id, facet, value, created_at, session_id from segments, lateral (
    select 'kind' as facet, kind as value from unnest(kinds) kind
    union select 'severity', severity from unnest(severities) severity
    union select 'channel', 'channel-rare' where channel_names @> '{channel-rare}')`

/** About so many segments. */
export async function seedSegments(service: Service, count: number): Promise<void> {
  await seed(service, Math.ceil(count / SEGMENTS_PER_SESSION / 0.9))
  const client = new pg.Client(await databaseOf(service.dataDir))
  await client.connect()
  try {
    await client.query('set session_replication_role = replica')
    await client.query(`set maintenance_work_mem = '512MB'`)
    await client.query(
      `update sessions set notes = '${sought.word} in the way' where id in (select id from sessions order by md5(id) limit 20)`,
    )
    await withoutIndexes(client, 'segments', () => client.query(insertSegments))
    await client.query(insertFacets)
    await client.query('vacuum (freeze, analyze) sessions, segments, session_facets')
    await client.query('checkpoint')
  } finally {
    await client.end()
  }
}
