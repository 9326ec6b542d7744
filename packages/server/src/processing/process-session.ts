import type { Issue } from '@tapedeck/contract'
import type { Db } from '../db/database.ts'
import type { SessionRow } from '../db/schema.ts'
import { move, partsOf, type Trx, toObject } from '../sessions/session.ts'
import { openRecording, type Recording } from '../storage/recording.ts'
import type { Storage } from '../storage/storage.ts'
import { type Announcer, announce } from '../webhooks/plan.ts'

type Deps = { db: Db; storage: Storage; announcer: Announcer }

const HEAD_BYTES = 16

/** Reads a verified recording and moves its session on. A session deleted meanwhile stays deleted. */
export async function processSession(deps: Deps, sessionId: string): Promise<void> {
  const { db, storage } = deps
  const session = await db
    .selectFrom('sessions')
    .select('status')
    .where('id', '=', sessionId)
    .executeTakeFirst()
  if (session?.status !== 'processing') return
  const recording = openRecording(storage, await partsOf(db, sessionId))
  const issue = await findUnsupported(recording)
  await fail(deps, sessionId, [issue])
}

/** The last try is over: the session ends with an issue that says so, and the queue goes on. */
export async function giveUpSession(deps: Deps, sessionId: string): Promise<void> {
  await fail(deps, sessionId, [
    {
      code: 'processing_crashed',
      severity: 'error',
      channel: '',
      detail: 'processing ended without a result at every try; the recording is kept as it was uploaded',
    },
  ])
}

async function findUnsupported(recording: Recording): Promise<Issue> {
  const head = await recording.read(0, Math.min(HEAD_BYTES, recording.size()))
  return {
    code: 'format_unsupported',
    severity: 'error',
    channel: '',
    detail: `no reader knows this file, which begins with the bytes ${Buffer.from(head).toString('hex')}; the recording is kept as it was uploaded`,
  }
}

/** State, index and event are one transaction. */
async function fail({ db, announcer }: Deps, sessionId: string, issues: Issue[]): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const session = await move(trx, sessionId, 'processing', 'failed', { issues: JSON.stringify(issues) })
    if (!session) return
    await indexIssues(trx, session, issues)
    const { id, object, status, segment_count } = toObject(session)
    await announce(announcer, trx, {
      organisationId: session.organisation_id,
      type: 'session.failed',
      object: { id, object, status, segment_count, issues },
    })
  })
}

/** What `GET /v1/sessions?issue=…` reads. */
async function indexIssues(trx: Trx, session: SessionRow, issues: Issue[]): Promise<void> {
  const codes = [...new Set(issues.map((issue) => issue.code))]
  await trx
    .insertInto('session_facets')
    .values(
      codes.map((value) => ({
        organisation_id: session.organisation_id,
        facet: 'issue' as const,
        value,
        created_at: session.created_at,
        session_id: session.id,
      })),
    )
    .execute()
}
