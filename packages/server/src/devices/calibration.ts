import type { Calibration, PutCalibration } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { ApiError, invalid } from '../errors.ts'

/** Stores a new version; earlier ones stay, because sessions were processed with them. */
export async function putCalibration(
  caller: Caller,
  device: string,
  input: PutCalibration,
  commit: Commit,
): Promise<Calibration> {
  refuseName(device)
  refuseRepeated(input.channels, 'source')
  refuseRepeated(input.channels, 'name')
  return commit.transaction(async (trx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`${caller.organisationId} ${device}`}, 1))`.execute(
      trx,
    )
    const last = await findCalibration(trx, caller.organisationId, device)
    const version = (last?.version ?? 0) + 1
    const { created_at } = await trx
      .insertInto('calibrations')
      .values({ organisation_id: caller.organisationId, device, version, body: JSON.stringify(input) })
      .returning('created_at')
      .executeTakeFirstOrThrow()
    return { object: 'calibration', device, version, ...input, created_at: created_at.toISOString() }
  })
}

export async function retrieveCalibration(
  { db }: { db: Db },
  caller: Caller,
  device: string,
): Promise<Calibration> {
  const found = await findCalibration(db, caller.organisationId, device)
  if (!found) throw new ApiError('device_not_found', `no calibration of ${device.slice(0, 255)} is stored`)
  return found
}

/** The last version. */
export async function findCalibration(
  db: Db,
  organisationId: string,
  device: string,
): Promise<Calibration | undefined> {
  const row = await db
    .selectFrom('calibrations')
    .select(['version', 'body', 'created_at'])
    .where('organisation_id', '=', organisationId)
    .where('device', '=', device)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!row) return undefined
  const { channels } = row.body as PutCalibration
  return {
    object: 'calibration',
    device,
    version: row.version,
    channels,
    created_at: row.created_at.toISOString(),
  }
}

function refuseName(device: string): void {
  if (!/^[^\p{Cc}]{1,255}$/u.test(device)) {
    throw invalid('id', 'the name of a device has 1 to 255 characters without control characters')
  }
}

function refuseRepeated(channels: PutCalibration['channels'], field: 'source' | 'name'): void {
  const seen = new Set<string>()
  for (const [index, channel] of channels.entries()) {
    const value = channel[field]
    if (value === undefined) continue
    if (seen.has(value)) {
      throw invalid(
        `channels[${index}].${field}`,
        `channels[${index}].${field} is ${JSON.stringify(value)} once more; name each once`,
      )
    }
    seen.add(value)
  }
}
