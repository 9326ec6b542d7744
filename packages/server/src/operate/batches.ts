import type { QueryResult } from 'kysely'

const BATCH = 500

/** Deletes little by little: no statement holds locks for long, and none is waited for by whoever stops. */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<QueryResult<unknown>>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await deleteSome(BATCH)
    if (numAffectedRows < BATCH) return
  }
}
