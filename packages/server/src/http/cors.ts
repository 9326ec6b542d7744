import type { FastifyReply, FastifyRequest } from 'fastify'

// Two policies: parts may be sent from any page, because the URL is the permission; the API may be called
// from the pages that the operator names.

const EXPOSED =
  'ETag, Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotent-Replayed'
const MAX_AGE_S = 7200
const CHECKSUM_HEADER = /^x-[a-z0-9]+-checksum-sha256$/

export function allowUploads(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('Access-Control-Allow-Origin', '*').header('Access-Control-Expose-Headers', EXPOSED)
  if (!isPreflight(request)) return
  const asked = (request.headers['access-control-request-headers'] ?? '').toLowerCase().split(/ *, */)
  const checksums = asked.filter((name) => CHECKSUM_HEADER.test(name) && name !== 'x-amz-checksum-sha256')
  reply
    .header('Access-Control-Allow-Methods', 'PUT')
    .header(
      'Access-Control-Allow-Headers',
      ['Content-Type', 'x-amz-checksum-sha256', ...checksums].join(', '),
    )
    .header('Access-Control-Max-Age', MAX_AGE_S)
}

export function allowOrigins(origins: string[], request: FastifyRequest, reply: FastifyReply): void {
  const { origin } = request.headers
  if (origins.length === 0 || origin === undefined) return
  reply.header('Vary', 'Origin')
  if (!origins.includes('*') && !origins.includes(origin)) return
  reply.header('Access-Control-Allow-Origin', origin).header('Access-Control-Expose-Headers', EXPOSED)
  if (!isPreflight(request)) return
  reply
    .header('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE')
    .header('Access-Control-Allow-Headers', 'Authorization, Content-Type, Idempotency-Key')
    .header('Access-Control-Max-Age', MAX_AGE_S)
}

export function isPreflight(request: FastifyRequest): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}
