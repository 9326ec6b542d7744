import type pg from 'pg'

// One session that the service has really processed, copied with all its rows as if many such had come in over a month: in
// the order of time, to 20 organisations with 50 devices each, with every index in place.

const BATCH = 5_000

/** Expressions over `plan` for what differs from copy to copy; all other columns stay as they are. */
const copied: Record<string, { of: string; where: string; differs: Record<string, string> }> = {
  sessions: { of: 'id', where: 'id', differs: { id: 'session_id', ...facts() } },
  parts: {
    of: 'session_id',
    where: 'session_id',
    differs: { session_id: 'session_id', object: objectName() },
  },
  channels: { of: 'session_id', where: 'session_id', differs: { session_id: 'session_id' } },
  timelines: { of: 'session_id', where: 'session_id', differs: { session_id: 'session_id' } },
  segments: {
    of: 'session_id',
    where: 'session_id',
    differs: {
      id: "overlay(row.id placing right(plan.session_id, 22) || lpad(to_hex(row.position), 4, '0') from 5)",
      session_id: 'session_id',
      ...facts(),
      started_at: 'row.started_at + (plan.created_at - now())',
    },
  },
  session_facets: {
    of: 'session_id',
    where: 'session_id',
    differs: { session_id: 'session_id', organisation_id: 'organisation_id', created_at: 'created_at' },
  },
  events: {
    of: 'events',
    where: 'id',
    differs: {
      id: "'evt' || substr(plan.session_id, 4)",
      organisation_id: 'organisation_id',
      created_at: 'created_at',
    },
  },
  deliveries: {
    of: 'events',
    where: 'event_id',
    differs: {
      id: "'del' || substr(plan.session_id, 4)",
      event_id: "'evt' || substr(plan.session_id, 4)",
      organisation_id: 'organisation_id',
      created_at: 'created_at',
    },
  },
  delivery_attempts: {
    of: 'deliveries',
    where: 'delivery_id',
    differs: { delivery_id: "'del' || substr(plan.session_id, 4)", started_at: 'created_at' },
  },
  idempotency_keys: {
    of: 'idempotency',
    where: 'key',
    differs: { organisation_id: 'organisation_id', key: 'plan.session_id', created_at: 'created_at' },
  },
}

function facts(): Record<string, string> {
  return {
    organisation_id: 'organisation_id',
    site: "'site-' || plan.n % 20",
    device: "'device-' || plan.n % 50",
    created_at: 'created_at',
  }
}

function objectName(): string {
  return 'replace(row.object, $1, plan.session_id)'
}

export async function copySession(client: pg.Client, sessionId: string, count: number): Promise<void> {
  // What rows refer to is not checked, nor is anybody waiting for the disk: only sizes are asked for.
  await client.query('set session_replication_role = replica; set synchronous_commit = off')
  await client.query("alter system set max_wal_size = '16GB'")
  await client.query('select pg_reload_conf()')
  const template = await templateOf(client, sessionId)
  for (let first = 1; first <= count; first += BATCH) {
    await client.query('drop table if exists plan')
    await client.query(
      `create temp table plan as select n, 'org_' || lpad((n % 20)::text, length(organisation_id) - 4, '0') as organisation_id,
        date_trunc('milliseconds', now() - (1 - n::float8 / ${count}) * interval '30 days') as created_at,
        'ses_' || left(lpad(to_hex(n), 10, '0') || md5(n::text), length(id) - 4) as session_id
        from sessions, generate_series(${first}, ${Math.min(count, first + BATCH - 1)}) n where id = '${sessionId}'`,
    )
    for (const [table, { of, where, differs }] of Object.entries(copied)) {
      await copyRows(client, table, where, differs, template[of] ?? sessionId)
    }
  }
  await client.query('vacuum (analyze)')
}

async function templateOf(client: pg.Client, sessionId: string): Promise<Record<string, string>> {
  const one = async (text: string) => (await client.query<{ id: string }>(text)).rows[0]?.id ?? ''
  const event = await one(`select id from events where body like '%${sessionId}%'`)
  return {
    events: event,
    deliveries: await one(`select id from deliveries where event_id = '${event}'`),
    idempotency: await one('select key as id from idempotency_keys order by length(response) desc limit 1'),
  }
}

async function copyRows(
  client: pg.Client,
  table: string,
  where: string,
  differs: Record<string, string>,
  template: string,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  )
  const names = rows.map(({ name }) => name)
  const qualified = (name: string) => {
    const expression = differs[name]
    if (expression === undefined) return `row.${name}`
    return /^\w+$/.test(expression) ? `plan.${expression}` : expression
  }
  await client.query(
    `insert into ${table} (${names.join(', ')}) select ${names.map(qualified).join(', ')}
      from plan, ${table} row where row.${where} = $1 order by plan.n`,
    [template],
  )
}

export type Size = { table: string; rows: number; heap: number; indexes: number }

/** Averages of one session. */
export async function sizesOf(client: pg.Client, sessions: number): Promise<Size[]> {
  const sizes: Size[] = []
  for (const table of Object.keys(copied)) {
    const { rows } = await client.query(
      `select (select count(*) from ${table})::float8 as rows, pg_table_size($1)::float8 as heap,
        pg_indexes_size($1)::float8 as indexes`,
      [table],
    )
    const { rows: count, heap, indexes } = rows[0]
    sizes.push({ table, rows: count / sessions, heap: heap / sessions, indexes: indexes / sessions })
  }
  return sizes
}
