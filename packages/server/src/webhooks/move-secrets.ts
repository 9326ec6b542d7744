import type { Db } from '../db/database.ts'
import { type Keys, moveToFirst } from '../secrets.ts'

const BATCH = 500

/** Encrypts the secrets of endpoints with the first key where they are under another. Safe on every node at once. */
export async function moveSecrets(db: Db, keys: Keys): Promise<void> {
  let after = ''
  for (;;) {
    const rows = await db
      .selectFrom('webhook_endpoints')
      .select(['id', 'secret', 'previous_secret'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH)
      .execute()
    for (const row of rows) await moveOne(db, keys, row)
    const last = rows.at(-1)
    if (!last || rows.length < BATCH) return
    after = last.id
  }
}

type Row = { id: string; secret: Buffer; previous_secret: Buffer | null }

async function moveOne(db: Db, keys: Keys, { id, secret, previous_secret }: Row): Promise<void> {
  const moved = moveToFirst(keys, secret, id)
  const movedPrevious = previous_secret ? moveToFirst(keys, previous_secret, id) : undefined
  if (!moved && !movedPrevious) return
  await db
    .updateTable('webhook_endpoints')
    .set({ secret: moved ?? secret, previous_secret: movedPrevious ?? previous_secret })
    .where('id', '=', id)
    // Whoever rotates it meanwhile wins.
    .where('secret', '=', secret)
    .execute()
}
