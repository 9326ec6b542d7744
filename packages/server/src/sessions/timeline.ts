import { inflateRawSync } from 'node:zlib'
import type { RetrieveTimeline, Timeline } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { exactInteger } from '../exact-json.ts'
import { findSession } from './session.ts'

/** As numbers they are for reading; whoever draws takes them packed, as fine as they were counted. */
const MAX_LISTED_BINS = 2_000

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
  const described = { object: 'timeline', session: id, t_start_ns: exactInteger(stored.start_ns) } as const
  // As they are stored: nothing is unpacked here for a page that unpacks them itself.
  if (input.counts === 'packed') {
    const named = channels.map(({ name }) => ({ name, counts: [] }))
    const { bin_ns, bin_count } = stored
    return { ...described, bin_ns, bin_count, channels: named, packed: stored.counts.toString('base64') }
  }
  const bytes = inflateRawSync(stored.counts)
  const counts = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const together = Math.ceil(stored.bin_count / MAX_LISTED_BINS)
  const rowOf = (row: number) =>
    addUp(counts.subarray(row * stored.bin_count, (row + 1) * stored.bin_count), together)
  return {
    ...described,
    bin_ns: stored.bin_ns * together,
    bin_count: Math.ceil(stored.bin_count / together),
    channels: channels.map(({ name }, row) => ({ name, counts: rowOf(row) })),
  }
}

/** Neighbours counted as one; the last bin may have fewer. */
function addUp(counts: Uint32Array, together: number): number[] {
  const sums = new Array<number>(Math.ceil(counts.length / together)).fill(0)
  for (const [index, count] of counts.entries()) {
    const bin = Math.floor(index / together)
    sums[bin] = (sums[bin] ?? 0) + count
  }
  return sums
}
