import type { CompleteSession, Session } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { isAlive, type Node } from '../db/nodes.ts'
import type { PartRow } from '../db/schema.ts'
import { ApiError, invalid } from '../errors.ts'
import { newNonce } from '../ids.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Intake } from '../storage/intake.ts'
import { PartLost } from '../storage/storage.ts'
import { isPaused } from './admit.ts'
import {
  findSession,
  move,
  partsOf,
  type SessionRecord,
  sessionNotFound,
  type Trx,
  toObject,
} from './session.ts'

type Deps = {
  db: Db
  jobs: Jobs
  node: Node
  intake: Pick<Intake, 'digest' | 'forget'>
  /** Bytes that were acknowledged are gone: the operator has to know. */
  onLost: (error: Error, sessionId: string) => void
}

/** Verifies the whole file and hands it to processing. Of two at once one moves, the other is a conflict. */
export async function complete(
  deps: Deps,
  caller: Caller,
  id: string,
  input: CompleteSession,
  commit: Commit,
): Promise<Session> {
  const session = await findSession(deps.db, caller, id)
  if (session.status !== 'uploading') throw alreadyCompleted(session.id)
  const parts = await partsOf(deps.db, session.id)
  checkNamed(input.parts, session, parts)
  const [only] = parts
  const completed =
    only && parts.length === 1
      ? await completeSingle(deps, session, only, commit)
      : await completeHashed(deps, session, parts, commit)
  deps.intake.forget(session.id)
  return completed
}

/** A file of one part is its part, whose digest is known: there is nothing to take long, and nothing to claim. */
async function completeSingle(
  deps: Deps,
  session: SessionRecord,
  part: PartRow,
  commit: Commit,
): Promise<Session> {
  refuseOtherDigest(part.sha256, session)
  return commit.transaction((trx) => finish(deps, trx, session, [part]))
}

async function completeHashed(
  deps: Deps,
  session: SessionRecord,
  parts: PartRow[],
  commit: Commit,
): Promise<Session> {
  const claimId = newNonce()
  try {
    await claim(deps, session.id, claimId)
    refuseOtherDigest(await digest(deps, session, parts), session)
    return await commit.transaction(async (trx) => {
      await keepClaim(trx, session.id, claimId)
      return finish(deps, trx, session, parts)
    })
  } catch (error) {
    // Also when the claim itself failed: its answer may have been lost after it was made.
    await deps.node.release(() => giveBack(deps, session.id, claimId))
    throw error
  }
}

function checkNamed(named: CompleteSession['parts'], session: SessionRecord, stored: PartRow[]): void {
  const wrongPlace = named.findIndex((part, index) => part.number !== index + 1)
  if (wrongPlace !== -1 || named.length !== session.part_count) {
    const found =
      wrongPlace === -1
        ? `${named.length} parts`
        : `part ${named[wrongPlace]?.number} in place ${wrongPlace + 1}`
    throw invalid(
      'parts',
      `parts must name every part from 1 to ${session.part_count} once, in order; found ${found}`,
    )
  }
  if (stored.length < session.part_count) throw partsMissing(session, stored)
  refuseOtherEtag(
    named.map((part) => part.etag.replaceAll('"', '')),
    stored,
  )
}

function partsMissing(session: SessionRecord, stored: PartRow[]): ApiError {
  const have = new Set(stored.map((part) => part.number))
  const first = Array.from({ length: session.part_count }, (_, index) => index + 1).find(
    (number) => !have.has(number),
  )
  const count = session.part_count - stored.length
  return new ApiError(
    'parts_missing',
    `${count} of ${session.part_count} parts have not been received, the first is number ${first}; retrieve the session and send them`,
    { param: 'parts' },
  )
}

function refuseOtherEtag(named: string[], stored: PartRow[]): void {
  const wrong = stored.findIndex((part, index) => part.sha256.toString('hex') !== named[index])
  if (wrong === -1) return
  throw invalid(
    `parts[${wrong}].etag`,
    `the stored part ${wrong + 1} has another ETag, "${stored[wrong]?.sha256.toString('hex')}"; it was sent again, or the ETag is of another part`,
  )
}

async function claim({ db, node }: Deps, id: string, claimId: string): Promise<void> {
  await node.settle()
  const claimed = await db
    .updateTable('sessions')
    .set({ completing_node: node.id, completing_claim: claimId })
    .where('id', '=', id)
    .where('status', '=', 'uploading')
    .where((where) =>
      where.or([
        where('completing_node', 'is', null),
        where.not(isAlive(sql.ref('sessions.completing_node'))),
      ]),
    )
    .executeTakeFirst()
  if (claimed.numUpdatedRows > 0n) return
  const now = await db.selectFrom('sessions').select('status').where('id', '=', id).executeTakeFirst()
  if (!now) throw sessionNotFound(id)
  if (now.status !== 'uploading') throw alreadyCompleted(id)
  throw new ApiError(
    'completion_in_progress',
    `another request is completing session ${id}; retrieve it to follow`,
  )
}

function giveBack({ db }: Deps, id: string, claimId: string): Promise<unknown> {
  return db
    .updateTable('sessions')
    .set({ completing_node: null, completing_claim: null })
    .where('id', '=', id)
    .where('completing_claim', '=', claimId)
    .execute()
}

/** As far as possible from what was hashed while the parts arrived. */
async function digest(deps: Deps, session: SessionRecord, parts: PartRow[]): Promise<Buffer> {
  const hashed = parts.map(({ number, bytes, sha256, object }) => ({
    number,
    bytes,
    sha256: sha256.toString('hex'),
    object,
  }))
  try {
    return await deps.intake.digest(session.id, hashed)
  } catch (error) {
    // A part sent again while we read takes the earlier object away: then the client named the earlier one.
    const stored = await partsOf(deps.db, session.id)
    if (stored.length === 0) throw sessionNotFound(session.id)
    refuseChanged(parts, stored)
    if (error instanceof PartLost) throw await forgetLost(deps, session.id, parts, error)
    throw error
  }
}

function refuseOtherDigest(found: Buffer, { sha256 }: SessionRecord): void {
  if (found.equals(sha256)) return
  throw new ApiError(
    'checksum_mismatch',
    `the parts hash to ${found.toString('hex')}, the session declared ${sha256.toString('hex')}; compare upload.received with the file and send the wrong parts again`,
  )
}

/** Bytes that the storage has lost may still be where they came from: the part is asked for once more. */
async function forgetLost(
  { db, onLost }: Deps,
  sessionId: string,
  parts: PartRow[],
  lost: PartLost,
): Promise<ApiError> {
  onLost(lost, sessionId)
  const { number } = lost
  await db
    .deleteFrom('parts')
    .where('session_id', '=', sessionId)
    .where('number', '=', number)
    .where('object', '=', parts[number - 1]?.object ?? '')
    .execute()
  return new ApiError(
    'parts_missing',
    `part ${number} was received, and the storage does not have it any more; send it again`,
    { param: 'parts', cause: lost },
  )
}

function refuseChanged(verified: PartRow[], stored: PartRow[]): void {
  refuseOtherEtag(
    verified.map((part) => part.sha256.toString('hex')),
    stored,
  )
}

/** Another node may have thought us dead, and have taken over. */
async function keepClaim(trx: Trx, id: string, claimId: string): Promise<void> {
  const locked = await trx
    .selectFrom('sessions')
    .select(['status', 'completing_claim'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (locked?.status !== 'uploading' || locked.completing_claim === claimId) return
  throw new ApiError(
    'completion_in_progress',
    `another request has taken over the completion of session ${id}`,
  )
}

/** Its processing begins with it, unless the operator holds that back. */
async function finish(
  { jobs }: Deps,
  trx: Trx,
  { id }: SessionRecord,
  verified: PartRow[],
): Promise<Session> {
  const paused = await isPaused(trx)
  const completed = await move(trx, id, 'uploading', paused ? 'uploaded' : 'processing', {
    completing_node: null,
    completing_claim: null,
  })
  const stored = await partsOf(trx, id)
  if (!completed) throw stored.length > 0 ? alreadyCompleted(id) : sessionNotFound(id)
  refuseChanged(verified, stored)
  if (!paused) await jobs.enqueue(trx, 'process-session', { sessionId: id })
  return toObject(completed)
}

function alreadyCompleted(id: string): ApiError {
  return new ApiError('already_completed', `the upload of session ${id} was completed before`)
}
