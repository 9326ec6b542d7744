import type { ExpectedChannel } from '@tapedeck/analysis'
import type { Db } from '../db/database.ts'
import { findCalibration } from './calibration.ts'

const SESSIONS = 5
/** A topic that was there in so many of the last sessions is missed when it is not. */
const SHARE = 0.8
const MIN_SESSIONS = 3

export type Expectation = { channels: ExpectedChannel[]; calibrationVersion: number | null }

/** What a device is known to send: by its calibration, and by its last sessions. */
export async function expectationOf(
  db: Db,
  organisationId: string,
  device: string | null,
  except: string,
): Promise<Expectation> {
  if (device === null) return { channels: [], calibrationVersion: null }
  const calibration = await findCalibration(db, organisationId, device)
  const channels = new Map<string, ExpectedChannel>()
  for (const topic of await usualTopics(db, organisationId, device, except)) channels.set(topic, { topic })
  for (const { source, name, rate_hz, intrinsics, clock_offset_ns } of calibration?.channels ?? []) {
    channels.set(source, {
      topic: source,
      ...(name !== undefined && { name }),
      ...(rate_hz !== undefined && { rateHz: rate_hz }),
      hasIntrinsics: intrinsics !== undefined,
      ...(clock_offset_ns !== undefined && { clockOffsetNs: clock_offset_ns }),
    })
  }
  return { channels: [...channels.values()], calibrationVersion: calibration?.version ?? null }
}

async function usualTopics(
  db: Db,
  organisationId: string,
  device: string,
  except: string,
): Promise<string[]> {
  const sessions = await db
    .selectFrom('sessions')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('device', '=', device)
    .where('status', '=', 'processed')
    .where('id', '<>', except)
    .orderBy('created_at', 'desc')
    .limit(SESSIONS)
    .execute()
  if (sessions.length < MIN_SESSIONS) return []
  const rows = await db
    .selectFrom('channels')
    .select('topic')
    .where(
      'session_id',
      'in',
      sessions.map(({ id }) => id),
    )
    .where('message_count', '>', 0)
    .groupBy('topic')
    .having((having) => having.fn.count('session_id').distinct(), '>=', sessions.length * SHARE)
    .execute()
  return rows.map(({ topic }) => topic)
}
