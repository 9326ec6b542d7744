import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { every } from './housekeeping.ts'
import type { Metrics } from './metrics.ts'

// Exchanging the secret. Every node writes down until when what it signs may be in use. So a node that still accepts the
// previous secret knows when nobody needs it any more: once no node has signed with it for that long, and nothing is
// encrypted with it.

type Settings = {
  db: Db
  metrics: Metrics
  /** Names of the secret that signs and, while it is accepted, of the one before. */
  current: string
  previous: string | undefined
  /** The longest that anything signed stays good. */
  longestUseS: number
  /** Moves what is encrypted with the previous secret to the current one. */
  move: () => Promise<void>
  /** Told once: nothing needs the previous secret any more. */
  onUnneeded: () => void
  onError: (error: unknown) => void
}

const EVERY_MS = 60_000
/** What is signed between two turns, and a turn that was missed. */
const MARGIN_S = 180

export function followSecretChange(settings: Settings): { stop(): Promise<void> } {
  const { db, metrics, current, previous, longestUseS, move, onUnneeded, onError } = settings
  const neededS = longestUseS + MARGIN_S
  let leftS = neededS
  let told = false
  if (previous !== undefined) {
    metrics.gauge(
      'tapedeck_previous_secret_needed_seconds',
      'How long the previous secret is still needed; 0 when it may be removed',
      () => leftS,
    )
  }
  async function turn(): Promise<void> {
    await sql`insert into signing_secrets as known (fingerprint, needed_until)
      values (${current}, now() + ${neededS} * interval '1 second')
      on conflict (fingerprint) do update set needed_until = greatest(known.needed_until, excluded.needed_until)`.execute(
      db,
    )
    if (previous === undefined) return
    await move()
    leftS = await leftOf(db, previous, neededS)
    if (leftS === 0 && !told) onUnneeded()
    told = leftS === 0
  }
  return every(EVERY_MS, turn, onError)
}

/** A secret that nobody wrote down, because earlier code did not, may have been in use until now. */
async function leftOf(db: Db, fingerprint: string, neededS: number): Promise<number> {
  await sql`insert into signing_secrets (fingerprint, needed_until)
    values (${fingerprint}, now() + ${neededS} * interval '1 second')
    on conflict (fingerprint) do nothing`.execute(db)
  const { rows } = await sql<{ left: number }>`
    select greatest(0, extract(epoch from needed_until - now()))::float8 as left
    from signing_secrets where fingerprint = ${fingerprint}`.execute(db)
  return rows[0]?.left ?? neededS
}
