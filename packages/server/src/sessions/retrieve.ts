import type { Session } from '@tapedeck/contract'
import type { Caller } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import { findSession, partsOf, type SessionRecord, toObject } from './session.ts'
import type { UploadLinks } from './upload-links.ts'

type Deps = { db: Db; links: UploadLinks }

/** The session; while it is uploading also what is missing and what was received, with fresh URLs. */
export async function retrieve(deps: Deps, caller: Caller, id: string): Promise<Session> {
  const row = await findSession(deps.db, caller, id)
  const session = toObject(row)
  return row.status === 'uploading' ? { ...session, upload: await uploadOf(deps, row) } : session
}

async function uploadOf({ db, links }: Deps, row: SessionRecord): Promise<NonNullable<Session['upload']>> {
  const stored = await partsOf(db, row.id)
  const { expiresAt, urlOf } = links.issue(row.id)
  const received = stored.map(({ number, bytes, sha256 }) => {
    const hex = sha256.toString('hex')
    return { number, bytes, sha256: hex, etag: `"${hex}"`, url: urlOf(number) }
  })
  const have = new Set(stored.map((part) => part.number))
  const parts = []
  for (let number = 1; number <= row.part_count; number++) {
    if (!have.has(number)) parts.push({ number, url: urlOf(number) })
  }
  return { part_size: row.part_size, expires_at: expiresAt, parts, received }
}
