import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import type { Actor } from './audit.ts'
import { hashKey, KEY_LEASE_MS } from './keys.ts'

/** Who asks: a key or a member, the organisation that is reached, and what may be done there. */
export type Caller = Actor & { organisationId: string; mayWrite: boolean }

export type Callers = {
  /** The caller behind an `Authorization` header, or the 401 that says what is wrong with it. */
  authenticate(authorization: string | undefined): Promise<Caller>
  close(): Promise<void>
}

const BEARER = /^Bearer +(\S+)$/i
const KEY = /^svc_(live|test)_[0-9a-v]{32}$/
const MAX_TRUSTED = 10_000
const LAST_USE_FLUSH_MS = 5_000

type Trusted = { caller: Promise<Caller>; untilMs: number }

export function openCallers(db: Db, onError: (error: unknown) => void): Callers {
  const trusted = new Map<string, Trusted>()
  const lastUse = new Map<string, Date>()
  const timer = setInterval(() => void flush().catch(onError), LAST_USE_FLUSH_MS)

  async function authenticate(authorization: string | undefined): Promise<Caller> {
    const caller = await lookUp(keyIn(authorization))
    lastUse.set(caller.id, new Date())
    return caller
  }

  function lookUp(key: string): Promise<Caller> {
    const hash = hashKey(key)
    const name = hash.toString('latin1')
    // The lease counts from before the question: the answer is never older than we think. Monotonic time.
    const nowMs = performance.now()
    const known = trusted.get(name)
    if (known && known.untilMs > nowMs) return known.caller
    if (trusted.size >= MAX_TRUSTED) trusted.clear()
    const caller = readCaller(db, hash)
    trusted.set(name, { caller, untilMs: nowMs + KEY_LEASE_MS })
    caller.catch(() => trusted.delete(name))
    return caller
  }

  async function flush(): Promise<void> {
    if (lastUse.size === 0) return
    const [ids, times] = [[...lastUse.keys()], [...lastUse.values()]]
    lastUse.clear()
    await sql`update api_keys set last_used_at = greatest(last_used_at, used.at)
      from unnest(${ids}::text[], ${times}::timestamptz[]) as used (id, at) where api_keys.id = used.id`.execute(
      db,
    )
  }

  return {
    authenticate,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

function keyIn(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new ApiError('key_missing', 'no API key was sent; send Authorization: Bearer <API_KEY>')
  }
  const key = BEARER.exec(authorization)?.[1]
  if (key === undefined) {
    throw new ApiError('key_missing', 'the Authorization header is not of the form: Bearer <API_KEY>')
  }
  if (!KEY.test(key)) throw unknownKey()
  return key
}

async function readCaller(db: Db, hash: Buffer): Promise<Caller> {
  const row = await db
    .selectFrom('api_keys')
    .select(['id', 'name', 'organisation_id', 'permissions', 'revoked_at'])
    .where('hash', '=', hash)
    .executeTakeFirst()
  if (!row) throw unknownKey()
  if (row.revoked_at)
    throw new ApiError('key_revoked', `the API key was revoked at ${row.revoked_at.toISOString()}`)
  return {
    kind: 'key',
    id: row.id,
    name: row.name,
    organisationId: row.organisation_id,
    mayWrite: row.permissions.includes('write'),
  }
}

function unknownKey(): ApiError {
  return new ApiError(
    'key_invalid',
    'the API key is not known; check it, or make one with: tapedeck keys create',
  )
}
