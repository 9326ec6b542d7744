import { hash } from 'node:crypto'
import { IDEMPOTENCY_WINDOW_HOURS, MAX_IDEMPOTENCY_KEY_CHARACTERS } from '@tapedeck/contract'
import { sql } from 'kysely'
import type { Caller } from '../access/caller.ts'
import { type Commit, plainCommit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import { isAlive, type Node } from '../db/nodes.ts'
import { ApiError, invalid } from '../errors.ts'
import { newNonce } from '../ids.ts'
import { decrypt, encrypt, type Keys } from '../secrets.ts'

// The key is claimed in the database before the work starts. The answer is stored, encrypted, in the same
// transaction as the work, so a key whose work exists has its answer, and a process killed in the middle
// leaves a claim that the next request takes over. Only successes are stored: an error created nothing.

export type Answer = { status: number; json: string; replayed: boolean }

export type IdempotentRequest = {
  caller: Caller
  key: string
  method: string
  path: string
  body: unknown
  status: number
}

type Deps = { db: Db; node: Node; responseKeys: Keys }

const KEY = new RegExp(
  `^[\\x21-\\x7e](?:[\\x20-\\x7e]{0,${MAX_IDEMPOTENCY_KEY_CHARACTERS - 2}}[\\x21-\\x7e])?$`,
)

export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw invalid(
      'Idempotency-Key',
      `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY_CHARACTERS} printable characters`,
    )
  }
  return header
}

/** Does the work once for a key, and answers every repetition with the first answer. */
export async function once(
  deps: Deps,
  request: IdempotentRequest,
  work: (commit: Commit) => Promise<unknown>,
): Promise<Answer> {
  const claimId = newNonce()
  const saved: { json?: string } = {}
  const commit = storingCommit(deps, request, claimId, (json) => {
    saved.json = json
  })
  try {
    const stored = await claim(deps, request, claimId)
    if (stored) return stored
    await work(commit)
  } catch (error) {
    // Also when the claim itself failed: its answer may have been lost after it was made.
    await deps.node.release(() => giveBack(deps, request, claimId))
    throw error
  }
  if (saved.json === undefined) throw new Error('the work ended without committing its answer')
  return { status: request.status, json: saved.json, replayed: false }
}

function hashRequest({ method, path, body }: IdempotentRequest): Buffer {
  return hash('sha256', `${method} ${path}\n${canonical(body)}`, 'buffer')
}

/** The same body with its fields in another order is the same request. */
function canonical(body: unknown): string {
  return JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'object' && value && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

async function claim(deps: Deps, request: IdempotentRequest, claimId: string): Promise<Answer | undefined> {
  const { db, node } = deps
  const { caller, key } = request
  const requestHash = hashRequest(request)
  await node.settle()
  const claimed = await sql`
    insert into idempotency_keys as mine (organisation_id, key, request_hash, node_id, claim)
    values (${caller.organisationId}, ${key}, ${requestHash}, ${node.id}, ${claimId})
    on conflict (organisation_id, key) do update
      set request_hash = excluded.request_hash, node_id = excluded.node_id,
        claim = excluded.claim, response = null, created_at = now()
      where mine.created_at < now() - ${IDEMPOTENCY_WINDOW_HOURS} * interval '1 hour'
        or (mine.response is null and not ${isAlive(sql.ref('mine.node_id'))})
    returning 1`.execute(db)
  if (claimed.rows.length > 0) return undefined
  const row = await db
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'response'])
    .where('organisation_id', '=', caller.organisationId)
    .where('key', '=', key)
    .executeTakeFirst()
  if (row && !row.request_hash.equals(requestHash)) {
    throw new ApiError(
      'idempotency_key_reused',
      'this Idempotency-Key was used for another request; use a new one',
      {
        param: 'Idempotency-Key',
      },
    )
  }
  if (row?.response) return read(deps, request, row.response)
  throw inUse()
}

function storingCommit(
  deps: Deps,
  request: IdempotentRequest,
  claimId: string,
  onStored: (json: string) => void,
): Commit {
  const transaction: Commit['transaction'] = async (work) => {
    let json = ''
    const result = await plainCommit(deps.db).transaction(async (trx) => {
      const answer = await work(trx)
      json = JSON.stringify(answer)
      await store(deps, trx, request, claimId, json)
      return answer
    })
    onStored(json)
    return result
  }
  return { transaction, statement: transaction, describe() {} }
}

async function store(
  { responseKeys }: Deps,
  db: Db,
  request: IdempotentRequest,
  claimId: string,
  json: string,
): Promise<void> {
  const { caller, key, status } = request
  const stored = await db
    .updateTable('idempotency_keys')
    .set({
      response: encrypt(responseKeys, `${status} ${json}`, contextOf(request)),
      node_id: null,
      claim: null,
    })
    .where('organisation_id', '=', caller.organisationId)
    .where('key', '=', key)
    .where('claim', '=', claimId)
    .executeTakeFirst()
  // Taken over by another node that thought us dead: its work counts, ours is rolled back.
  if (stored.numUpdatedRows === 0n) throw inUse()
}

function read({ responseKeys }: Deps, request: IdempotentRequest, sealed: Buffer): Answer {
  const plain = decrypt(responseKeys, sealed, contextOf(request))
  const space = plain.indexOf(' ')
  return { status: Number(plain.slice(0, space)), json: plain.slice(space + 1), replayed: true }
}

function contextOf({ caller, key }: IdempotentRequest): string {
  return `${caller.organisationId} ${key}`
}

function giveBack({ db }: Deps, { caller, key }: IdempotentRequest, claimId: string): Promise<unknown> {
  return db
    .deleteFrom('idempotency_keys')
    .where('organisation_id', '=', caller.organisationId)
    .where('key', '=', key)
    .where('claim', '=', claimId)
    .execute()
}

function inUse(): ApiError {
  return new ApiError('idempotency_key_in_use', 'a request with this Idempotency-Key is still running', {
    param: 'Idempotency-Key',
    retryAfterS: 1,
  })
}
