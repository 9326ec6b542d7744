import { setTimeout as delay } from 'node:timers/promises'
import type { Analysis, IssueCode } from '@tapedeck/analysis'
import { type Db, isUnavailable } from '../db/database.ts'
import { expectationOf } from '../devices/expected.ts'
import type { Claim } from '../jobs/claim.ts'
import { chosenOutcome } from '../sandbox/chosen-outcome.ts'
import { partsOf } from '../sessions/session.ts'
import type { StorageSettings } from '../storage/open.ts'
import { openRecording } from '../storage/recording.ts'
import { ObjectLost, type Storage } from '../storage/storage.ts'
import type { Announcer } from '../webhooks/plan.ts'
import { ScanLimit, type ScanLimits, scan } from './scan.ts'
import type { ScanSource } from './scan-messages.ts'
import { PROCESSOR_VERSION, type Processor, writeResult } from './write-result.ts'

type Deps = {
  db: Db
  storage: Storage
  storageSettings: StorageSettings
  announcer: Announcer
  segmentS: number
  limits: ScanLimits
  /** Bytes that were acknowledged are gone: the operator has to know. */
  onLost: (error: ObjectLost, sessionId: string) => void
  /** This worker was taken for dead: what it found does not count. */
  onLate: (sessionId: string) => void
}

const PROGRESS_EVERY_MS = 500
const DATABASE_PAUSE_MS = 500

/** Reads a verified recording and moves its session on. A session deleted meanwhile stops the work and stays deleted. */
export async function processSession(deps: Deps, sessionId: string, claim: Claim): Promise<void> {
  const { db, storage, storageSettings, segmentS, limits } = deps
  const session = await db
    .selectFrom('sessions')
    .innerJoin('organisations', 'organisations.id', 'sessions.organisation_id')
    .select(['sessions.status', 'filename', 'organisation_id', 'device', 'sandbox_of'])
    .where('sessions.id', '=', sessionId)
    .executeTakeFirst()
  if (session?.status !== 'processing') return
  const chosen = session.sandbox_of === null ? undefined : chosenOutcome(session.filename)
  if (chosen) return finish(deps, claim, sessionId, chosen, null)
  const parts = (await partsOf(db, sessionId)).map(({ object, bytes }) => ({ object, bytes }))
  const recording = openRecording(storage, parts)
  const expected = await expectationOf(db, session.organisation_id, session.device, sessionId)
  const progress = followProgress(db, sessionId, claim.signal)
  try {
    const analysis = await scan(
      {
        source: sourceOf(storageSettings, parts),
        filename: session.filename,
        segmentNs: segmentS * 1e9,
        expected: expected.channels,
        calibrationVersion: expected.calibrationVersion,
      },
      { limits, signal: progress.signal, onProgress: progress.at, recording },
    )
    await finish(deps, claim, sessionId, analysis, expected.calibrationVersion)
  } catch (error) {
    if (progress.isGone()) return
    if (error instanceof ScanLimit)
      return finish(deps, claim, sessionId, nothing('processing_limit', error.message), null)
    if (!(error instanceof ObjectLost)) throw error
    deps.onLost(error, sessionId)
    await finish(
      deps,
      claim,
      sessionId,
      nothing('recording_lost', 'a part that was received is not in the storage any more'),
      null,
    )
  } finally {
    await progress.stop()
  }
}

function sourceOf(settings: StorageSettings, parts: { object: string; bytes: number }[]): ScanSource {
  if (settings.kind === 'disk') return { kind: 'files', root: settings.root, parts }
  return { kind: 'asked', bytes: parts.reduce((sum, part) => sum + part.bytes, 0) }
}

/** The last try is over: the session ends with an issue that says so, and the queue goes on. */
export async function giveUpSession(deps: Deps, sessionId: string, claim: Claim): Promise<void> {
  const detail = 'processing ended without a result at every try; the recording is kept as it was uploaded'
  await finish(deps, claim, sessionId, nothing('processing_crashed', detail), null)
}

function nothing(code: IssueCode, detail: string): Analysis {
  return {
    format: undefined,
    readable: false,
    absolute: false,
    startNs: 0n,
    endNs: 0n,
    channels: [],
    segments: [],
    timeline: { startNs: 0n, binNs: 0, rows: [] },
    issues: [{ code, severity: 'error', channel: '', detail }],
  }
}

/** Result and end of the job are one transaction. A database that fails over is waited for: reading took long. */
async function finish(
  { db, announcer, segmentS, onLate }: Deps,
  claim: Claim,
  sessionId: string,
  analysis: Analysis,
  calibrationVersion: number | null,
): Promise<void> {
  const processor: Processor = {
    version: PROCESSOR_VERSION,
    segment_s: segmentS,
    calibration_version: calibrationVersion,
  }
  for (;;) {
    try {
      const counts = await db.transaction().execute(async (trx) => {
        if (!(await claim.settle(trx))) return false
        await writeResult(announcer, trx, sessionId, analysis, processor)
        return true
      })
      if (!counts) onLate(sessionId)
      return
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await delay(DATABASE_PAUSE_MS, undefined, { signal: claim.signal })
    }
  }
}

/** Keeps the session's row up to date, and notices when the session is gone. */
function followProgress(db: Db, sessionId: string, outer: AbortSignal) {
  const gone = new AbortController()
  let fraction = 0
  let writing: Promise<void> | undefined
  const timer = setInterval(() => {
    writing ??= write().finally(() => {
      writing = undefined
    })
  }, PROGRESS_EVERY_MS)

  async function write(): Promise<void> {
    try {
      const updated = await db
        .updateTable('sessions')
        .set({ processing_stage: 'reading', processing_fraction: fraction })
        .where('id', '=', sessionId)
        .where('status', '=', 'processing')
        .executeTakeFirst()
      if (updated.numUpdatedRows === 0n) gone.abort(new Error(`session ${sessionId} is gone`))
    } catch {
      // Progress is a courtesy: without a database the next one tells it, and the result is written or the job tried again.
    }
  }

  return {
    signal: AbortSignal.any([outer, gone.signal]),
    isGone: () => gone.signal.aborted,
    at(value: number) {
      fraction = Math.min(1, Math.max(0, value))
    },
    async stop() {
      clearInterval(timer)
      await writing
    },
  }
}
