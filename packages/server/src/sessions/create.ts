import {
  type CreatedSession,
  type CreateSession,
  DEFAULT_PART_BYTES,
  MAX_PARTS,
  PART_BYTES_STEP,
} from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Clock } from '../clock.ts'
import type { Commit } from '../db/commit.ts'
import { invalid } from '../errors.ts'
import { newId } from '../ids.ts'
import type { UploadLinks } from './upload-links.ts'

type Deps = { clock: Clock; links: UploadLinks }

/** Plans the parts, signs their URLs and keeps the session. */
export async function create(
  deps: Deps,
  caller: Caller,
  input: CreateSession,
  commit: Commit,
): Promise<CreatedSession> {
  const id = newId('ses', deps.clock.now())
  const partSize = choosePartSize(input.bytes, input.part_size)
  const partCount = Math.ceil(input.bytes / partSize)
  const { expiresAt, urlOf } = deps.links.issue(id)
  const parts = Array.from({ length: partCount }, (_, index) => ({
    number: index + 1,
    url: urlOf(index + 1),
  }))
  commit.describe(`${input.filename} (${input.site})`)
  return commit.statement(async (db) => {
    await db
      .with('new_site', (cte) =>
        cte
          .insertInto('sites')
          .values({ organisation_id: caller.organisationId, name: input.site })
          .onConflict((conflict) => conflict.doNothing()),
      )
      .insertInto('sessions')
      .values({
        id,
        organisation_id: caller.organisationId,
        site: input.site,
        device: input.device ?? null,
        filename: input.filename,
        bytes: input.bytes,
        sha256: Buffer.from(input.sha256, 'hex'),
        part_size: partSize,
        part_count: partCount,
        notes: input.notes ?? null,
      })
      .execute()
    return {
      id,
      object: 'session',
      status: 'uploading',
      upload: { part_size: partSize, expires_at: expiresAt, parts },
    }
  })
}

export function choosePartSize(bytes: number, wanted: number | undefined): number {
  if (wanted === undefined) {
    const smallest = Math.ceil(bytes / MAX_PARTS / PART_BYTES_STEP) * PART_BYTES_STEP
    return Math.max(DEFAULT_PART_BYTES, smallest)
  }
  if (Math.ceil(bytes / wanted) > MAX_PARTS) {
    throw invalid(
      'part_size',
      `part_size ${wanted} would make ${Math.ceil(bytes / wanted)} parts of ${bytes} bytes, more than ${MAX_PARTS}; use at least ${Math.ceil(bytes / MAX_PARTS)} or leave it out`,
    )
  }
  return wanted
}
