import type { Channel, ChannelList } from '@tapedeck/contract'
import type { Selectable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import type { Tables } from '../db/schema.ts'
import { exactInteger } from '../exact-json.ts'
import { findSession } from './session.ts'

/** Every channel of a session with what is known of it. Empty until it is processed. */
export async function listChannels({ db }: { db: Db }, caller: Caller, id: string): Promise<ChannelList> {
  const session = await findSession(db, caller, id)
  const rows = await db
    .selectFrom('channels')
    .select([
      'session_id',
      'position',
      'name',
      'kind',
      'topic',
      'schema',
      'encoding',
      'message_count',
      'bytes',
      'first_ns',
      'last_ns',
      'rate_hz',
      'jitter_ns',
      'largest_gap_ns',
      'clock',
    ])
    .where('session_id', '=', id)
    .orderBy('position')
    .execute()
  const issues = Map.groupBy(session.issues, ({ channel }) => channel)
  const data = rows.map((row) => toObject(row, issues.get(row.name) ?? []))
  return { object: 'list', data, has_more: false, next_cursor: null }
}

function toObject(row: Selectable<Tables['channels']>, issues: Channel['issues']): Channel {
  return {
    object: 'channel',
    name: row.name,
    kind: row.kind as Channel['kind'],
    source: row.topic,
    schema: row.schema,
    encoding: row.encoding,
    message_count: row.message_count,
    bytes: row.bytes,
    first_t_ns: row.first_ns === null ? null : exactInteger(row.first_ns),
    last_t_ns: row.last_ns === null ? null : exactInteger(row.last_ns),
    rate_hz: row.rate_hz,
    jitter_ns: row.jitter_ns,
    largest_gap_ns: row.largest_gap_ns,
    clock: toClock(row.clock),
    issues,
  }
}

type StoredClock = {
  kind: string
  offsetNs: number
  envelopeOffsetNs: number
  driftPpm: number | null
  pairs: number
}

function toClock(stored: unknown): Channel['clock'] {
  if (stored === null) return null
  const { kind, offsetNs, envelopeOffsetNs, driftPpm, pairs } = stored as StoredClock
  return { kind, offset_ns: offsetNs, envelope_offset_ns: envelopeOffsetNs, drift_ppm: driftPpm, pairs }
}
