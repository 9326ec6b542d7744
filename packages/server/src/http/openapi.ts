import { ErrorBody, type ErrorCode, errorCodes, errorStatus, StreamEvents } from '@tapedeck/contract'
import type { TObject, TSchema } from 'typebox'
import type { Operation } from './operation.ts'

// The document is made from the schemas that validate, so it cannot say anything else than what is done.

type Json = Record<string, unknown>

const everywhere: ErrorCode[] = [
  'parameter_invalid',
  'parameter_unknown',
  'request_malformed',
  'key_missing',
  'key_invalid',
  'key_revoked',
  'rate_limit_exceeded',
  'internal_error',
  'overloaded',
  'database_unavailable',
]
const forWriting: ErrorCode[] = ['write_required']
const forIdempotency: ErrorCode[] = ['idempotency_key_reused', 'idempotency_key_in_use']
const forParts: ErrorCode[] = [
  'signature_invalid',
  'upload_url_expired',
  'checksum_required',
  'parameter_invalid',
  'part_checksum_mismatch',
  'part_size_mismatch',
  'request_malformed',
  'session_not_found',
  'upload_closed',
  'rate_limit_exceeded',
  'internal_error',
  'overloaded',
  'database_unavailable',
  'storage_unavailable',
]

export function openApiDocument(
  operations: Operation[],
  addresses: { baseUrl: string; uploadUrl: string },
): Json {
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation),
    }
  }
  paths['/v1/events/stream'] = { get: describeEventStream() }
  paths['/upload/{session}/{number}'] = { put: describeUpload(addresses.uploadUrl) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tapedeck control API',
      version: '1.0.0',
      summary: 'Upload sensor recordings, follow their processing, be told when it is done.',
      description:
        'Create a session, PUT the parts of the file to the signed URLs, complete the session, and follow it until it is `processed` or `failed`.',
      license: { name: 'Proprietary', url: `${addresses.baseUrl}/docs` },
    },
    servers: [{ url: addresses.baseUrl }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Sessions', description: 'One recording is one session.' },
      { name: 'Uploads', description: 'The signed storage endpoint that receives the bytes.' },
      {
        name: 'Webhooks',
        description: 'Endpoints of yours that are told what happened, and what was sent to them.',
      },
      { name: 'Events', description: 'What happened, whoever was told.' },
    ],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key of one organisation: `svc_live_…`, or `svc_test_…` for its sandbox.',
        },
      },
      schemas: { Error: plain(ErrorBody) },
      headers: commonHeaders,
    },
  }
}

function describe(operation: Operation): Json {
  const isPost = operation.method === 'POST'
  const errors = [
    ...operation.errors,
    ...everywhere,
    ...(operation.permission === 'write' ? forWriting : []),
    ...(isPost ? forIdempotency : []),
  ]
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: `${operation.description}\n\nNeeds a key with \`${operation.permission}\`.`,
    parameters: [
      ...pathParameters(operation.path),
      ...queryParameters(operation.query),
      ...(isPost ? [idempotencyKey] : []),
    ],
    ...(hasFields(operation.body) && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: plain(operation.body), example: operation.example.body } },
      },
    }),
    responses: {
      [operation.status]: {
        description: 'Success.',
        headers: {
          ...headerRefs,
          ...(isPost && { 'Idempotent-Replayed': ref('headers', 'IdempotentReplayed') }),
        },
        content: {
          'application/json': { schema: plain(operation.response), example: operation.example.response },
        },
      },
      ...errorResponses(errors),
    },
  }
}

function describeUpload(uploadUrl: string): Json {
  return {
    operationId: 'uploadPart',
    tags: ['Uploads'],
    summary: 'Upload a part',
    description:
      'PUT the bytes of one part to its signed URL, exactly as `upload.parts` gives it. No key is sent: the URL is the permission. A part that is wrong leaves nothing behind; sending a part again replaces it.',
    servers: [{ url: uploadUrl }],
    security: [],
    parameters: [
      {
        name: 'session',
        in: 'path',
        required: true,
        description: 'The session.',
        schema: { type: 'string' },
      },
      {
        name: 'number',
        in: 'path',
        required: true,
        description: 'The part, from 1.',
        schema: { type: 'integer' },
      },
      {
        name: 'expires',
        in: 'query',
        required: true,
        description: 'Part of the signed URL.',
        schema: { type: 'integer' },
      },
      {
        name: 'signature',
        in: 'query',
        required: true,
        description: 'Part of the signed URL.',
        schema: { type: 'string' },
      },
      {
        name: 'x-amz-checksum-sha256',
        in: 'header',
        required: true,
        description: 'Base64 of the binary SHA-256 of the part. Any `x-<word>-checksum-sha256` is taken.',
        schema: { type: 'string' },
        example: 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=',
      },
    ],
    requestBody: {
      required: true,
      description: 'The raw bytes: `part_size` of them, or what is left in the last part.',
      content: {
        'application/octet-stream': {
          schema: { type: 'string', contentMediaType: 'application/octet-stream' },
        },
      },
    },
    responses: {
      200: {
        description: 'The part is on disk.',
        headers: {
          ...headerRefs,
          ETag: {
            description: 'What `complete` wants: the hex SHA-256 in quotes.',
            schema: { type: 'string' },
          },
        },
      },
      ...errorResponses(forParts),
    },
  }
}

function describeEventStream(): Json {
  const example =
    'id: evt_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a\nevent: session.processed\ndata: {"id":"evt_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a", …}\n\n'
  return {
    operationId: 'streamEvents',
    tags: ['Events'],
    summary: 'Follow events',
    description:
      'What happens, while it happens, as server-sent events: `id` is that of the event, `data` the exact body of the webhook. Comments keep it alive. Needs a key with `read`.',
    parameters: [
      ...queryParameters(StreamEvents),
      {
        name: 'Last-Event-ID',
        in: 'header',
        required: false,
        description: 'The same as `after`.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: {
        description: 'A stream that ends when the client goes, its key is revoked or the service stops.',
        headers: headerRefs,
        content: { 'text/event-stream': { schema: { type: 'string' }, example } },
      },
      ...errorResponses([...everywhere, 'organisation_mismatch', 'event_not_found', 'too_many_streams']),
    },
  }
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: name === 'delivery' ? 'The id of the delivery.' : 'The id of the object.',
    schema: { type: 'string' },
  }))
}

function queryParameters(query: TObject): Json[] {
  return Object.entries(query.properties).map(([name, schema]) => {
    const { description, ...rest } = plain(schema)
    return { name, in: 'query', required: false, description, schema: rest }
  })
}

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Repeating the request with the same key within 24 hours returns the first answer and creates nothing more. 1 to 255 printable characters.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  example: '7f3b2c1e-upload-run-0042',
}

const commonHeaders: Record<string, Json> = {
  RequestId: {
    description: 'Names this request; `req_…`.',
    schema: { type: 'string' },
    example: 'req_4f1d2a9c8b7e6f5a4d3c2b1a09f8e7d6',
  },
  RateLimitLimit: { description: 'Requests a minute.', schema: { type: 'integer' }, example: 1000 },
  RateLimitRemaining: {
    description: 'Requests left in this minute.',
    schema: { type: 'integer' },
    example: 997,
  },
  RateLimitReset: {
    description: 'Seconds until the budget is full again.',
    schema: { type: 'integer' },
    example: 42,
  },
  RetryAfter: {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer' },
    example: 2,
  },
  IdempotentReplayed: {
    description: '`true` when the answer is that of an earlier request.',
    schema: { type: 'string' },
    example: 'true',
  },
}

const headerRefs: Json = {
  'Request-Id': ref('headers', 'RequestId'),
  'RateLimit-Limit': ref('headers', 'RateLimitLimit'),
  'RateLimit-Remaining': ref('headers', 'RateLimitRemaining'),
  'RateLimit-Reset': ref('headers', 'RateLimitReset'),
}

/** One response for each status, with an example for each code. */
function errorResponses(codes: ErrorCode[]): Json {
  const byStatus = Map.groupBy([...new Set(codes)], errorStatus)
  const entries = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, group]) => [status, errorResponse(status, group)])
  return Object.fromEntries(entries)
}

function errorResponse(status: number, codes: ErrorCode[]): Json {
  const mayRetry = status === 429 || status === 503 || codes.includes('idempotency_key_in_use')
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCodes[code].meaning}`).join('\n\n'),
    headers: { ...headerRefs, ...(mayRetry && { 'Retry-After': ref('headers', 'RetryAfter') }) },
    content: {
      'application/json': {
        schema: ref('schemas', 'Error'),
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  }
}

function errorExample(code: ErrorCode): ErrorBody {
  const { type, meaning } = errorCodes[code]
  return {
    error: { type, code, message: meaning, param: '', request_id: 'req_4f1d2a9c8b7e6f5a4d3c2b1a09f8e7d6' },
  }
}

function ref(kind: 'schemas' | 'headers', name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

function hasFields(schema: TObject): boolean {
  return Object.keys(schema.properties).length > 0
}

/** The schema as it goes on the wire: without the words that our own error messages use. */
function plain(schema: TSchema): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (key === 'expectation' ? undefined : value)),
  )
}
