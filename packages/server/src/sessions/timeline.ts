import { inflateRawSync } from 'node:zlib'
import type { RetrieveTimeline, Timeline } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { exactInteger } from '../exact-json.ts'
import { findSession } from './session.ts'

/** Where each channel has data, in bins that were counted when the session was processed. */
export async function retrieveTimeline(
  { db }: { db: Db },
  caller: Caller,
  id: string,
  input: RetrieveTimeline,
): Promise<Timeline> {
  await findSession(db, caller, id)
  const stored = await db
    .selectFrom('timelines')
    .select(['start_ns', 'bin_ns', 'bin_count', 'counts'])
    .where('session_id', '=', id)
    .executeTakeFirst()
  if (!stored) throw new ApiError('not_processed', `session ${id} has no timeline; it has not been processed`)
  const channels = await db
    .selectFrom('channels')
    .select('name')
    .where('session_id', '=', id)
    .orderBy('position')
    .execute()
  const described = {
    object: 'timeline',
    session: id,
    t_start_ns: exactInteger(stored.start_ns),
    bin_ns: stored.bin_ns,
    bin_count: stored.bin_count,
  } as const
  // As they are stored: nothing is unpacked here for a page that unpacks them itself.
  if (input.counts === 'packed') {
    const named = channels.map(({ name }) => ({ name, counts: [] }))
    return { ...described, channels: named, packed: stored.counts.toString('base64') }
  }
  const bytes = inflateRawSync(stored.counts)
  const counts = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const rowOf = (row: number) => [...counts.subarray(row * stored.bin_count, (row + 1) * stored.bin_count)]
  return { ...described, channels: channels.map(({ name }, row) => ({ name, counts: rowOf(row) })) }
}
