import { createHash } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { Db } from '../../src/db/database.ts'
import type { Tables } from '../../src/db/schema.ts'
import { newId } from '../../src/ids.ts'

// Sessions written straight to the database: in any state, at any time, with any finding.

type Fields = Partial<Insertable<Tables['sessions']>>

export async function organisationId(db: Db, name: string): Promise<string> {
  const { id } = await db
    .selectFrom('organisations')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return id
}

export async function seedSession(db: Db, organisation: string, fields: Fields = {}): Promise<string> {
  const row = {
    id: newId('ses', Date.now()),
    organisation_id: await organisationId(db, organisation),
    site: 'lab',
    filename: 'run.mcap',
    bytes: 1000,
    sha256: createHash('sha256').digest(),
    part_size: 8_000_000,
    part_count: 1,
    ...fields,
  }
  await db.insertInto('sessions').values(row).execute()
  return row.id
}

/** Makes the session findable by channels and issue codes, as processing does. */
export async function seedFacets(
  db: Db,
  sessionId: string,
  facets: { channel?: string[]; issue?: string[] },
): Promise<void> {
  const session = await db
    .selectFrom('sessions')
    .select(['organisation_id', 'created_at'])
    .where('id', '=', sessionId)
    .executeTakeFirstOrThrow()
  const rows = (['channel', 'issue'] as const).flatMap((facet) =>
    (facets[facet] ?? []).map((value) => ({ ...session, facet, value, session_id: sessionId })),
  )
  await db.insertInto('session_facets').values(rows).execute()
}
