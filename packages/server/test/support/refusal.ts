import assert from 'node:assert/strict'

// The error table of the contract, written out: it is what the service is held against.
const types: Record<number, string> = {
  400: 'invalid_request',
  401: 'authentication',
  403: 'permission',
  404: 'not_found',
  409: 'conflict',
  422: 'processing',
  429: 'rate_limited',
  500: 'api_error',
  503: 'api_error',
}

type Refusal = { status: number; headers: Headers; body: unknown }

/** The answer is an error of the contract: status, type and code fit, five strings, one request id. */
export function assertRefused(answer: Refusal, status: number, code: string, param?: string): void {
  const error = errorOf(answer)
  const found = [answer.status, error.type, error.code]
  assert.deepEqual(found, [status, types[status], code], `answered ${JSON.stringify(answer.body)}`)
  if (param !== undefined) assert.equal(error.param, param)
}

/** The five strings of an error body, and nothing beside them. */
export function errorOf({ status, headers, body }: Refusal): Record<string, string> {
  const error: unknown = typeof body === 'object' && body ? Reflect.get(body, 'error') : undefined
  assert.ok(
    typeof error === 'object' && error,
    `expected an error, found ${status} ${JSON.stringify(body)?.slice(0, 300)}`,
  )
  assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'request_id', 'type'])
  const strings: Record<string, string> = {}
  for (const [name, value] of Object.entries(error)) {
    assert.equal(typeof value, 'string', `error.${name} is a string`)
    strings[name] = String(value)
  }
  assert.match(strings.message ?? '', /\S/)
  assert.match(strings.request_id ?? '', /^req_[0-9a-z]+$/)
  assert.equal(strings.request_id, headers.get('request-id'))
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/)
  return strings
}
