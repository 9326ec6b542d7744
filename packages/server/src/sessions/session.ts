import type { Session, SessionStatus } from '@tapedeck/contract'
import type { Transaction, Updateable } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import type { PartRow, SessionRow, Tables } from '../db/schema.ts'
import { statement } from '../db/statement.ts'
import { ApiError } from '../errors.ts'
import { isId } from '../ids.ts'

export type Trx = Transaction<Tables>

/** The legal moves; a session is made in `uploading` and deleted from anywhere. */
const moves = {
  // Through `uploaded` at once, unless processing is held back.
  uploading: ['uploaded', 'processing'],
  uploaded: ['processing'],
  processing: ['processed', 'failed'],
  // Run again by the current version of the processor.
  processed: ['processing'],
  failed: ['processing'],
} as const satisfies Record<SessionStatus, readonly SessionStatus[]>

/** What a session object is made of, and what its moves need. */
const columns = [
  'id',
  'organisation_id',
  'site',
  'device',
  'filename',
  'bytes',
  'sha256',
  'part_size',
  'part_count',
  'status',
  'recorded_at',
  'duration_s',
  'channels',
  'segment_count',
  'issues',
  'notes',
  'created_at',
  'processed_at',
  'processing_stage',
  'processing_fraction',
] as const satisfies (keyof SessionRow)[]
export type SessionRecord = Pick<SessionRow, (typeof columns)[number]>
export const sessionColumns = columns.map((column) => `sessions.${column}` as const)

/** Moves a session on, or returns undefined when it is not (or no longer) in `from`. */
export async function move<From extends SessionStatus>(
  trx: Trx,
  id: string,
  from: From,
  to: (typeof moves)[From][number],
  set: Updateable<Tables['sessions']> = {},
): Promise<SessionRecord | undefined> {
  return trx
    .updateTable('sessions')
    .set({ ...set, status: to })
    .where('id', '=', id)
    .where('status', '=', from)
    .returning(sessionColumns)
    .executeTakeFirst()
}

const sessionById = statement((db) => db.selectFrom('sessions').select(sessionColumns).where('id', '=', ''))

/** The one way to an object: absent is `not_found`, another organisation's is `permission`. */
export async function findSession(db: Db, caller: Caller, id: string): Promise<SessionRecord> {
  const [row] = isId('ses', id) ? await sessionById(db, id) : []
  if (!row) throw sessionNotFound(id)
  if (row.organisation_id !== caller.organisationId) {
    throw new ApiError('organisation_mismatch', `session ${id} belongs to another organisation`)
  }
  return row
}

export function sessionNotFound(id: string): ApiError {
  return new ApiError('session_not_found', `there is no session ${id.slice(0, 64)}; it may have been deleted`)
}

/** The parts of a session that are stored, in order. */
export const partsOf: (db: Db, sessionId: string) => Promise<PartRow[]> = statement((db) =>
  db
    .selectFrom('parts')
    .select(['session_id', 'number', 'bytes', 'sha256', 'object', 'received_at'])
    .where('session_id', '=', '')
    .orderBy('number'),
)

/** Every part is `part_size` long but the last. */
export function partBytes(
  session: Pick<SessionRow, 'bytes' | 'part_size' | 'part_count'>,
  number: number,
): number {
  return number < session.part_count
    ? session.part_size
    : session.bytes - session.part_size * (session.part_count - 1)
}

export function toObject(row: SessionRecord): Session {
  return {
    id: row.id,
    object: 'session',
    site: row.site,
    device: row.device,
    filename: row.filename,
    bytes: row.bytes,
    sha256: row.sha256.toString('hex'),
    status: row.status,
    recorded_at: row.recorded_at?.toISOString() ?? null,
    duration_s: row.duration_s,
    channels: row.channels,
    segment_count: row.segment_count,
    issues: row.issues,
    notes: row.notes,
    created_at: row.created_at.toISOString(),
    processed_at: row.processed_at?.toISOString() ?? null,
    ...(row.status === 'processing' && { processing: progressOf(row) }),
  }
}

function progressOf({
  processing_stage,
  processing_fraction,
}: SessionRecord): NonNullable<Session['processing']> {
  const stage =
    processing_stage === 'reading' || processing_stage === 'writing' ? processing_stage : 'waiting'
  return { stage, fraction: processing_fraction ?? 0 }
}
