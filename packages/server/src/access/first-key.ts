import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { type CreatedKey, createKey } from './keys.ts'
import { createOrganisation } from './organisations.ts'

const DEFAULT_ORGANISATION = 'default'

/** On the very first start: an organisation and a key to begin with. */
export async function makeFirstKey(db: Db, clock: Clock): Promise<CreatedKey | undefined> {
  const any = await db.selectFrom('organisations').select('id').limit(1).executeTakeFirst()
  if (any || (await createOrganisation(db, clock, DEFAULT_ORGANISATION)) === 'taken') return undefined
  return createKey(db, clock, {
    organisation: DEFAULT_ORGANISATION,
    permissions: ['read', 'write'],
    mode: 'live',
    name: 'first key',
  })
}
