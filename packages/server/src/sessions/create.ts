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
import { statement } from '../db/statement.ts'
import { invalid } from '../errors.ts'
import { newId } from '../ids.ts'
import type { UploadLinks } from './upload-links.ts'

type Deps = { clock: Clock; links: UploadLinks }

const insertSession = statement((db) =>
  db
    .with('new_site', (cte) =>
      cte
        .insertInto('sites')
        .values({ organisation_id: '', name: '' })
        .onConflict((conflict) => conflict.doNothing()),
    )
    .insertInto('sessions')
    .values({
      id: '',
      organisation_id: '',
      site: '',
      device: '',
      filename: '',
      bytes: 0,
      sha256: Buffer.alloc(0),
      part_size: 0,
      part_count: 0,
      notes: '',
    }),
)

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
    const { organisationId } = caller
    await insertSession(
      db,
      ...[organisationId, input.site],
      ...[id, organisationId, input.site, input.device ?? null, input.filename],
      ...[input.bytes, Buffer.from(input.sha256, 'hex'), partSize, partCount, input.notes ?? null],
    )
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
