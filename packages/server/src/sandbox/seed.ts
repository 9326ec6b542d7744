import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { newId } from '../ids.ts'
import type { Storage } from '../storage/storage.ts'
import { makeSamples, type Sample } from './samples.ts'

// A sandbox gets the sample recordings once, when its first key is made, as sessions that were uploaded and wait to
// be let in.

type Deps = { db: Db; storage: Storage; clock: Clock }

export async function seedSandboxes(deps: Deps): Promise<void> {
  for (;;) {
    const bare = await deps.db
      .selectFrom('organisations')
      .select('organisations.id')
      .where('sandbox_of', 'is not', null)
      .where('seeded_at', 'is', null)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('api_keys').select('api_keys.id').whereRef('organisation_id', '=', 'organisations.id'),
        ),
      )
      .limit(1)
      .executeTakeFirst()
    if (!bare) return
    await seed(deps, bare.id)
  }
}

async function seed({ db, storage, clock }: Deps, organisationId: string): Promise<void> {
  const stored: (Kept & { sample: Sample })[] = []
  for (const sample of makeSamples()) stored.push({ sample, ...(await keep(storage, clock, sample)) })
  const ours = await db.transaction().execute(async (trx) => {
    // Of several nodes one seeds; the others take back what they stored.
    const { numUpdatedRows } = await trx
      .updateTable('organisations')
      .set({ seeded_at: sql<Date>`now()` })
      .where('id', '=', organisationId)
      .where('seeded_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    for (const { id, object, sha256, sample } of stored) {
      const { site, device, filename, notes, bytes } = sample
      await trx
        .insertInto('sites')
        .values({ organisation_id: organisationId, name: site })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      await trx
        .insertInto('sessions')
        .values({
          id,
          organisation_id: organisationId,
          site,
          device,
          filename,
          notes,
          bytes: bytes.length,
          sha256,
          part_size: bytes.length,
          part_count: 1,
          status: 'uploaded',
        })
        .execute()
      await trx
        .insertInto('parts')
        .values({ session_id: id, number: 1, bytes: bytes.length, sha256, object })
        .execute()
    }
    return true
  })
  if (!ours) await storage.remove(stored.map(({ object }) => object))
}

type Kept = { id: string; sha256: Buffer; object: string }

async function keep(storage: Storage, clock: Clock, { bytes }: Sample): Promise<Kept> {
  const id = newId('ses', clock.now())
  const sha256 = createHash('sha256').update(bytes).digest()
  const part = { sessionId: id, number: 1, bytes: bytes.length, sha256: sha256.toString('hex') }
  const writer = await storage.openPart(part)
  await writer.write([bytes])
  return { id, sha256, object: await writer.keep() }
}
