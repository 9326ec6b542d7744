import type { AnyEventType, Event, EventList, ListEvents } from '@tapedeck/contract'
import { DEFAULT_PAGE_SIZE } from '@tapedeck/contract'
import { type Selectable, sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Clock } from '../clock.ts'
import { afterCursor, toPage } from '../cursor.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { ApiError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import type { Keys } from '../secrets.ts'

type EventRow = Selectable<Tables['events']>

/** Whoever follows the events of an organisation hears its id when one is committed. */
export const EVENTS_CHANNEL = 'tapedeck_events'

/** Writes an event in the transaction of what caused it. Its body is fixed here, to the byte. */
export async function writeEvent(
  db: Db,
  clock: Clock,
  { organisationId, type, object }: { organisationId: string; type: AnyEventType; object: object },
): Promise<EventRow> {
  // The database's clock: events of all nodes are in one order.
  const { rows } = await sql<{ now: Date }>`select date_trunc('milliseconds', now()) as now,
    pg_notify(${EVENTS_CHANNEL}, ${organisationId})`.execute(db)
  const created = rows[0]?.now ?? new Date(clock.now())
  const id = newId('evt', clock.now())
  const event: Event = { id, object: 'event', type, created_at: created.toISOString(), data: { object } }
  const row = { id, organisation_id: organisationId, type, body: JSON.stringify(event), created_at: created }
  await db.insertInto('events').values(row).execute()
  return row
}

const columns = ['id', 'organisation_id', 'type', 'body', 'created_at'] as const

export async function retrieveEvent({ db }: { db: Db }, caller: Caller, id: string): Promise<Event> {
  const row = isId('evt', id)
    ? await db.selectFrom('events').select(columns).where('id', '=', id).executeTakeFirst()
    : undefined
  if (!row)
    throw new ApiError(
      'event_not_found',
      `there is no event ${id.slice(0, 64)}; it may be older than events are kept`,
    )
  if (row.organisation_id !== caller.organisationId) {
    throw new ApiError('organisation_mismatch', `event ${id} belongs to another organisation`)
  }
  return toObject(row)
}

export async function listEvents(
  { db, cursorKeys }: { db: Db; cursorKeys: Keys },
  caller: Caller,
  { limit = DEFAULT_PAGE_SIZE, cursor, type }: ListEvents,
): Promise<EventList> {
  const identity = ['events', caller.organisationId, type ?? null]
  let query = db.selectFrom('events').select(columns).where('organisation_id', '=', caller.organisationId)
  if (type !== undefined) query = query.where('type', '=', type)
  const rows = await query
    .where(afterCursor(cursorKeys, identity, cursor))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return toPage(cursorKeys, identity, rows, limit, toObject)
}

/** What receivers got is what the API shows. */
function toObject(row: EventRow): Event {
  return JSON.parse(row.body)
}
