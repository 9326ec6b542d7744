import type { KeyObject } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { type Db, isUnanswered } from '../db/database.ts'
import { ApiError, invalid } from '../errors.ts'
import { isId } from '../ids.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Metrics } from '../operate/metrics.ts'
import type { Keys } from '../secrets.ts'
import { type ExpectedPart, expectPart, MAX_PART_MS, recordPart } from '../sessions/parts.ts'
import type { Intake } from '../storage/intake.ts'
import { isSigned } from '../storage/signed-url.ts'
import { allowContinue } from './continue.ts'
import { allowUploads, isPreflight } from './cors.ts'
import type { Load } from './load.ts'
import { parseQuery } from './query.ts'
import { addressBucket, type RateLimit } from './rate-limit.ts'
import type { Turns } from './turns.ts'

// PUT a part. All that can be known from the head is checked before a byte is read. The bytes are hashed while
// they stream to storage; wrong ones leave nothing. Right ones are durable first, then the row, then the ETag.

export type UploadDeps = {
  db: Db
  jobs: Jobs
  clock: Clock
  intake: Intake
  load: Load
  turns: Turns
  rateLimit: RateLimit
  metrics: Metrics
  urlKeys: Keys<KeyObject>
}

export function registerUpload(app: FastifyInstance, deps: UploadDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The body is not parsed: the handler takes the stream.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.addHook('onRequest', async (request, reply) => {
      allowUploads(request, reply)
      // Bytes are bytes, whatever the client calls them.
      delete request.raw.headers['content-type']
    })
    scope.put('/upload/:session/:number', (request, reply) => putPart(deps, request, reply))
    scope.options('/upload/:session/:number', async (request, reply) => {
      if (!isPreflight(request))
        throw new ApiError('route_unknown', 'there is no OPTIONS here but for preflights')
      return reply.code(204).send()
    })
  })
}

async function putPart(
  deps: UploadDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const address = await checkUrl(deps, request).catch(async (error: unknown) => {
    await deps.rateLimit.spend(addressBucket(request.ip), reply)
    throw error
  })
  const leave = deps.load.enter('upload')
  try {
    const sha256 = await deps.turns.take('write', async () => {
      const part = await expectPart(deps.db, address.sessionId, address.number)
      const sha256 = readChecksum(request)
      checkLength(request, part)
      allowContinue(request.raw, reply.raw)
      await keepPart(deps, part, sha256, request)
      deps.metrics.partBytes(part.bytes)
      return sha256
    })
    return reply.code(200).header('ETag', `"${sha256}"`).send()
  } finally {
    leave()
  }
}

async function checkUrl({ urlKeys, clock }: UploadDeps, request: FastifyRequest) {
  const { session = '', number = '' } = request.params as Record<string, string | undefined>
  const query = queryOf(request.raw.url ?? '')
  const [expires = '', signature = ''] = [query.get('expires'), query.get('signature')]
  const address = { sessionId: session, number: Number(number), expiresS: Number(expires) }
  const wellFormed =
    isId('ses', session) && /^[1-9]\d{0,4}$/.test(number) && /^\d{1,12}$/.test(expires) && query.size === 2
  if (!wellFormed || !isSigned(urlKeys, address, signature)) {
    throw new ApiError(
      'signature_invalid',
      'this upload URL was not signed by the service; use it exactly as it was given',
    )
  }
  // Judged now, when the head has arrived: a slow client may finish later.
  if (clock.now() >= address.expiresS * 1000) {
    throw new ApiError(
      'upload_url_expired',
      `this upload URL expired at ${new Date(address.expiresS * 1000).toISOString()}; retrieve the session for a fresh one`,
    )
  }
  return address
}

/** A query that cannot be read was not signed by us. */
function queryOf(url: string): Map<string, string> {
  try {
    return parseQuery(url)
  } catch {
    return new Map()
  }
}

const CHECKSUM_HEADER = /^x-[a-z0-9]+-checksum-sha256$/
const BASE64_SHA256 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

/** Hex digest from `x-<word>-checksum-sha256`, whatever word the client's storage library puts there. */
function readChecksum(request: FastifyRequest): string {
  const found = Object.entries(request.headers).filter(([name]) => CHECKSUM_HEADER.test(name))
  const [first, ...others] = found
  if (!first) {
    throw new ApiError(
      'checksum_required',
      'send x-amz-checksum-sha256 with the base64 of the SHA-256 of the part',
      {
        param: 'x-amz-checksum-sha256',
      },
    )
  }
  const [name, value] = first
  if (typeof value !== 'string' || !BASE64_SHA256.test(value)) {
    throw invalid(name, `${name} must be the base64 of the 32 bytes of a SHA-256`)
  }
  if (others.some(([, other]) => other !== value))
    throw invalid(name, 'the request has two different checksums')
  return Buffer.from(value, 'base64').toString('hex')
}

function checkLength(request: FastifyRequest, part: ExpectedPart): void {
  const length = request.headers['content-length']
  if (length === undefined || Number(length) === part.bytes) return
  throw new ApiError(
    'part_size_mismatch',
    `part ${part.number} must have ${part.bytes} bytes, Content-Length says ${length}`,
    {
      param: 'Content-Length',
    },
  )
}

async function keepPart(
  deps: UploadDeps,
  part: ExpectedPart,
  sha256: string,
  request: FastifyRequest,
): Promise<void> {
  const { sessionId, number, bytes } = part
  const deadline = new Date(deps.clock.now() + MAX_PART_MS)
  const kept = await deps.intake.receive({ ...part, sha256 }, request.raw)
  const row = {
    session_id: sessionId,
    number,
    bytes,
    sha256: Buffer.from(sha256, 'hex'),
    object: kept.object,
  }
  try {
    await recordPart(deps, row, deadline)
  } catch (error) {
    // A row that was made, or is yet to be made, needs its object. One that no row names is removed by the collector.
    kept.settle(isUnanswered(error))
    if (error instanceof ApiError && error.code === 'session_not_found') await removeAll(deps, sessionId)
    throw error
  }
  kept.settle(true)
}

/** Its folder was made anew for this part, after the deletion had removed it. */
async function removeAll({ db, jobs }: UploadDeps, sessionId: string): Promise<void> {
  await db.transaction().execute((trx) => jobs.enqueue(trx, 'remove-objects', { sessionId, objects: 'all' }))
}
