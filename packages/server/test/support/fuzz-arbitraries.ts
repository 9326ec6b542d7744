import { METHODS } from 'node:http'
import fc from 'fast-check'

// Requests that are well-formed HTTP and nothing else.

export type Header = [name: string, value: string]

/** CONNECT asks for a tunnel and is not answered; HEAD has its own test, because its answers have no body. */
export const method = fc.constantFrom(...METHODS.filter((name) => name !== 'CONNECT' && name !== 'HEAD'))

/** Every byte that may stand in a header but for those that end it. */
export const headerText = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), {
    maxLength: 300,
  })
  .map((codes) => String.fromCharCode(...codes))

/** What can stand in a target; percent signs may be followed by anything. */
const targetText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '%00',
        '%2F',
        '%2e%2e',
        '%ff',
        '%',
        '%zz',
        '%u0041',
        '..',
        '//',
        ';',
        '+',
        '[gte]',
        '=',
      ),
      fc.constantFrom('sessions', 'ses_', 'complete', 'upload', '1', '__proto__', 'a'.repeat(700)),
      fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code).replace(/[#?]/, '-')),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

const knownPaths = ['/', '/v1/sessions', '/v1/openapi.json', '/docs', '/console', '/healthz', '/metrics']
export const path = fc.oneof(
  fc.constantFrom(...knownPaths),
  targetText.map((text) => `/${text}`),
  targetText.map((text) => `/v1/sessions/${text}`),
  targetText.map((text) => `/v1/sessions/${text}/complete`),
  fc.tuple(targetText, targetText).map(([session, number]) => `/upload/${session}/${number}`),
)

const filterNames = [
  'site',
  'device',
  'status',
  'channel',
  'issue',
  'created[gte]',
  'created[lt]',
  'recorded[gte]',
  'recorded[lt]',
  'limit',
  'cursor',
]
const filterValue = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map(encodeLoosely),
  fc.constantFrom('0001-01-01T00:00:00%2B23:59', '9999-12-31T23:59:59.999999999-23:59', '0000-01-01T00:00Z'),
  fc.constantFrom('-0', '1e3', '0x10', '501', '999999999999999', '%00', '%', 'null', 'processed'),
  fc.base64String({ maxLength: 200 }).map(encodeLoosely),
  targetText,
)
const filterName = fc.oneof(fc.constantFrom(...filterNames), fc.constantFrom(...filterNames), targetText)
export const query = fc
  .array(fc.tuple(filterName, filterValue), { maxLength: 4 })
  .map((pairs) => `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`)

const createFields = {
  site: 'lab',
  filename: 'run.mcap',
  bytes: 1000,
  sha256: 'a'.repeat(64),
  part_size: 8_000_000,
  device: 'amr-07',
  notes: 'second run',
}
const jsonValue = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.constantFrom(-1, 0, 2 ** 53, 1e308, '', '\0', '\u202e', 'x'.repeat(300), [], {}, null),
)
const createBody = fc
  .tuple(fc.constantFrom(...Object.keys(createFields), 'constructor', '__proto__', 'more'), jsonValue)
  .map(([name, value]) => JSON.stringify({ ...createFields, [name]: value }))
const completeBody = fc
  .array(fc.oneof(fc.record({ number: jsonValue, etag: jsonValue }), jsonValue), { maxLength: 4 })
  .map((parts) => JSON.stringify({ parts }))
const oddJson = fc.constantFrom(
  '',
  ' ',
  '[]',
  '"text"',
  '{"__proto__":{"site":"lab"}}',
  '{"site":"a","site":"b"}',
  '{"site":"\\ud800"}',
  '{"notes":"\\u0000"}',
  `{"notes":${'['.repeat(5000)}${']'.repeat(5000)}}`,
  `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
  `{"notes":"${'x'.repeat(200_000)}"}`,
  `{"parts":[${'{},'.repeat(20_000)}{}]}`,
  '\ufeff{}',
)
export const body = fc.oneof(
  createBody.map((text) => Buffer.from(text)),
  completeBody.map((text) => Buffer.from(text)),
  oddJson.map((text) => Buffer.from(text)),
  fc.json().map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
)

const contentType = fc.oneof(
  { weight: 5, arbitrary: fc.constant('application/json') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      ';',
      '*/*',
      'text/plain',
      'application/json; charset=latin1',
      'application/json;charset="utf-8"',
      'application/json, text/html',
      'multipart/form-data; boundary=',
      'application/x-www-form-urlencoded',
    ),
  },
  { weight: 1, arbitrary: headerText },
)
const otherHeader: fc.Arbitrary<Header> = fc.oneof(
  fc.tuple(fc.constant('Idempotency-Key'), headerText),
  fc.tuple(
    fc.constant('Expect'),
    fc.constantFrom('100-continue', '100-Continue', '200-ok').map((text) => text),
  ),
  fc.tuple(fc.constant('Content-Encoding'), fc.constantFrom('gzip', 'br', 'identity')),
  fc.tuple(fc.constant('Accept'), headerText),
  fc.tuple(fc.constant('Origin'), headerText),
  fc.tuple(fc.constant('Access-Control-Request-Method'), headerText),
  fc.tuple(fc.constantFrom('Range', 'If-Match', 'Cookie', 'X-Forwarded-For', 'Request-Id'), headerText),
  fc.tuple(fc.constant('Upgrade'), fc.constantFrom('websocket', 'h2c')),
)

/** Headers of a request with a right key in most of them. */
export const headers = (key: string): fc.Arbitrary<Header[]> =>
  fc
    .record({
      authorization: fc.oneof(
        { weight: 6, arbitrary: fc.constant(`Bearer ${key}`) },
        { weight: 1, arbitrary: fc.constantFrom('', 'Bearer', `Basic ${key}`, `Bearer ${key} ${key}`) },
        { weight: 1, arbitrary: headerText },
      ),
      contentType,
      others: fc.array(otherHeader, { maxLength: 3 }),
    })
    .map(({ authorization, contentType: type, others }) => [
      ['Authorization', authorization],
      ['Content-Type', type],
      ...others,
    ])

/** Percent-encodes what a target cannot hold; lone surrogates become what a careless client would send. */
function encodeLoosely(text: string): string {
  return [...text].map((char) => encodeURIComponent(char.isWellFormed() ? char : '\ufffd')).join('')
}
