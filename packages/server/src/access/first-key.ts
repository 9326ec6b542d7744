import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { serviceItself } from './audit.ts'
import { type CreatedKey, createKey } from './keys.ts'
import { createOrganisation } from './organisations.ts'

export const DEFAULT_ORGANISATION = 'default'

/** On the very first start: an organisation and a key to begin with. */
export async function makeFirstKey(db: Db, clock: Clock): Promise<CreatedKey | undefined> {
  const any = await db.selectFrom('organisations').select('id').limit(1).executeTakeFirst()
  if (any || (await createOrganisation(db, clock, DEFAULT_ORGANISATION, serviceItself)) === 'taken')
    return undefined
  const key = { organisation: DEFAULT_ORGANISATION, name: 'first key', mode: 'live' as const }
  return createKey(db, clock, { ...key, permissions: ['read', 'write'] }, serviceItself)
}
