import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { newId } from '../ids.ts'
import { type Actor, commandLine, recordChange } from './audit.ts'

export type Organisation = { id: string; name: string; createdAt: Date }

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/

/** Makes an organisation and its sandbox twin, or says that the name is taken. */
export async function createOrganisation(
  db: Db,
  clock: Clock,
  name: string,
  actor: Actor = commandLine,
): Promise<Organisation | 'taken'> {
  if (!NAME.test(name)) {
    throw new Error(
      `the name of an organisation has 1 to 63 of a-z, 0-9, dot, dash and underscore and begins with a letter or digit, not ${JSON.stringify(name)}`,
    )
  }
  const id = newId('org', clock.now())
  return db.transaction().execute(async (trx) => {
    const made = await trx
      .insertInto('organisations')
      .values({ id, name, sandbox_of: null })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returning('created_at')
      .executeTakeFirst()
    if (!made) return 'taken' as const
    // A slash cannot be in a name that was asked for, so the twin's is always free.
    const twin = { id: newId('org', clock.now()), name: `${name}/sandbox`, sandbox_of: id }
    await trx.insertInto('organisations').values(twin).execute()
    await recordChange(trx, {
      organisationId: id,
      actor,
      action: 'organisation.created',
      object: id,
      detail: name,
    })
    return { id, name, createdAt: made.created_at }
  })
}

export async function listOrganisations(db: Db): Promise<Organisation[]> {
  const rows = await db
    .selectFrom('organisations')
    .select(['id', 'name', 'created_at'])
    .where('sandbox_of', 'is', null)
    .orderBy('name')
    .execute()
  return rows.map((row) => ({ id: row.id, name: row.name, createdAt: row.created_at }))
}
