import { setTimeout as sleep } from 'node:timers/promises'
import type { EventType, WebhookEndpoint } from '@tapedeck/contract'
import { sql } from 'kysely'
import { type Database, openDatabase } from '../../packages/server/src/db/database.ts'
import { newId } from '../../packages/server/src/ids.ts'
import { openJobs } from '../../packages/server/src/jobs/jobs.ts'
import { announce } from '../../packages/server/src/webhooks/plan.ts'
import { call, connectionOf, type Service } from './service.ts'
import type { Stage } from './stage.ts'

// Events and deliveries as the service makes them, from beside it.

export async function openBeside(stage: Stage, service: Service): Promise<Database> {
  const database = openDatabase(await connectionOf(service), { maxConnections: 4 })
  stage.after(() => database.close())
  return database
}

export function createEndpoint(service: Service, url: string): Promise<WebhookEndpoint> {
  const events: EventType[] = ['export.completed']
  return call(service, 'POST', '/v1/webhook_endpoints', { url, events })
}

/** Deliveries of so many events to each endpoint that failed long ago: asked for again, all of them are due at once. */
export async function seedFailed({ db }: Database, endpointIds: string[], count: number): Promise<string> {
  const organisation = await organisationOf(db)
  const created = new Date()
  const body = eventBody(newId('evt', created.getTime()), created)
  await sql`
    with event as (
      insert into events (id, organisation_id, type, body, created_at)
      select 'evt_' || lpad(n::text, 36, '0'), ${organisation}, 'export.completed', ${body}, ${created}
      from generate_series(1, ${count}::int) n returning id
    )
    insert into deliveries (id, organisation_id, endpoint_id, event_id, event_type, status, deadline_at, created_at)
    select 'del_' || lpad(endpoint.number::text, 4, '0') || right(event.id, 32), ${organisation}, endpoint.id, event.id,
      'export.completed', 'failed', ${created}, ${created}
    from event, unnest(${endpointIds}::text[]) with ordinality as endpoint(id, number)`.execute(db)
  return body
}

function eventBody(id: string, created: Date): string {
  const object = {
    id: newId('ses', created.getTime()),
    object: 'session',
    status: 'processed',
    segment_count: 12,
  }
  return JSON.stringify({
    id,
    object: 'event',
    type: 'session.processed',
    created_at: created.toISOString(),
    data: { object },
  })
}

/** All deliveries as they were before they were asked for again, once the last of them has ended. */
export async function failAgain({ db }: Database): Promise<void> {
  const deadlineMs = performance.now() + 60_000
  for (;;) {
    const { rows } = await sql`select 1 from deliveries where status = 'pending' limit 1`.execute(db)
    if (rows.length === 0) break
    if (performance.now() > deadlineMs) throw new Error('deliveries are still pending')
    await sleep(50)
  }
  await sql`update deliveries set status = 'failed'`.execute(db)
  await sql`truncate delivery_attempts`.execute(db)
  await sql`vacuum analyze deliveries`.execute(db)
}

export type Committed = { id: string; atMs: number }

/** Commits events one by one at a steady pace; tells when each was. */
export async function openAnnouncements(
  stage: Stage,
  { db, connection }: Database,
): Promise<(count: number, everyMs: number) => Promise<Committed[]>> {
  const jobs = await openJobs(connection, (error) => process.stderr.write(`${error.message}\n`))
  stage.after(() => jobs.stop())
  const organisationId = await organisationOf(db)
  const announcer = { clock: { now: Date.now }, jobs, retryScale: 1 }
  return async (count, everyMs) => {
    const committed: Committed[] = []
    const startMs = performance.now()
    for (let index = 0; index < count; index++) {
      await sleep(Math.max(0, startMs + index * everyMs - performance.now()))
      const object = { id: newId('ses', Date.now()) }
      let atMs = 0
      await db.transaction().execute(async (trx) => {
        await announce(announcer, trx, { organisationId, type: 'export.completed', object })
        // The commit itself follows at once.
        atMs = performance.timeOrigin + performance.now()
      })
      committed.push({ id: object.id, atMs })
    }
    return committed
  }
}

async function organisationOf(db: Database['db']): Promise<string> {
  const { id } = await db
    .selectFrom('organisations')
    .select('id')
    .where('name', '=', 'default')
    .executeTakeFirstOrThrow()
  return id
}
