import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MAX_BODY_BYTES, type Session } from '@tapedeck/contract'
import { type Answer, call } from './support/client.ts'
import { chunk, head, openRaw } from './support/raw.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

// What may stand in a request body, byte by byte and value by value.

const JSON_TYPE = 'application/json'
let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

for (const type of [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'Application/JSON',
  'application/json; charset="utf-8"',
]) {
  test(`a body declared as ${type} is taken`, async () => {
    assert.equal((await send(JSON.stringify(newSession()), type)).status, 201)
  })
}

for (const type of [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/jsonp',
  'application/json-seq',
  'application/vnd.api+json',
  'application/json; charset=latin1',
  'application/json; charset=utf-16',
  'json',
  ';',
]) {
  test(`a body declared as ${type} is refused`, async () => {
    assertRefused(await send(JSON.stringify(newSession()), type), 400, 'content_type_invalid')
  })
}

test('a body without a content type is refused', async () => {
  const answer = await send(new TextEncoder().encode(JSON.stringify(newSession())))
  assertRefused(answer, 400, 'content_type_invalid')
})

test('a POST without any body lacks its first parameter', async () => {
  const answer = await call(service.url, 'POST', '/v1/sessions', { key: service.key })
  assertRefused(answer, 400, 'parameter_invalid', 'site')
})

for (const text of [
  '{',
  '{]',
  'nothing',
  "{'site': 1}",
  '{"site": 1,}',
  '{} {}',
  '\u0000',
  '{"a": 01}',
  '{"a": NaN}',
  '{"a": "\n"}',
]) {
  test(`the body ${JSON.stringify(text)} is not JSON`, async () => {
    assertRefused(await send(text), 400, 'body_invalid')
  })
}

for (const text of ['null', '[]', '[{}]', '5', '"text"', 'true']) {
  test(`the body ${text} is JSON but no object`, async () => {
    assertRefused(await send(text), 400, 'body_invalid')
  })
}

test('bytes that are not UTF-8 are refused', async () => {
  for (const bytes of [
    [0xff],
    [0xc3, 0x28],
    [0xed, 0xa0, 0x80],
    [0xc0, 0xaf],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
  ]) {
    const body = Buffer.concat([Buffer.from('{"site": "'), Buffer.from(bytes), Buffer.from('"}')])
    assertRefused(await send(body, JSON_TYPE), 400, 'body_invalid')
  }
})

test('half of a surrogate pair is refused, in a value and in a name', async () => {
  assertRefused(await send(withField('"notes": "\\ud83c"')), 400, 'body_invalid')
  assertRefused(await send(withField('"notes": "a\\uDF9Eb"')), 400, 'body_invalid')
  assertRefused(await send(withField('"\\ud800": 1')), 400, 'body_invalid')
})

test('a whole surrogate pair in escapes is text', async () => {
  const { status, body } = await send(withField('"notes": "\\ud83c\\udf9e"'))
  assert.equal(status, 201)
  assert.equal((await retrieve(idIn(body))).notes, '🎞')
})

for (const [what, field, param] of [
  ['a field named twice', '"bytes": 5', 'bytes'],
  ['a field named twice in other spelling', '"\\u0062ytes": 5', 'bytes'],
  ['a field named twice with the same value', '"bytes": 1000', 'bytes'],
] as const) {
  test(`${what} is refused`, async () => {
    assertRefused(await send(withField(field)), 400, 'body_invalid', param)
  })
}

test('a field named twice deep inside is refused', async () => {
  const path = `/v1/sessions/ses_${'0'.repeat(36)}/complete`
  const answer = await send('{"parts": [{"number": 1, "etag": "x", "number": 1}]}', JSON_TYPE, path)
  assertRefused(answer, 400, 'body_invalid', 'number')
})

test('the same name in two objects, or in a text, is not a repetition', async () => {
  const path = `/v1/sessions/ses_${'0'.repeat(36)}/complete`
  const etag = 'a'.repeat(64)
  const parts = [1, 2].map((number) => ({ number, etag }))
  assertRefused(await send(JSON.stringify({ parts }), JSON_TYPE, path), 404, 'session_not_found')
  assert.equal((await send(withField('"notes": "\\"bytes\\": 1, \\"bytes\\": 2"'))).status, 201)
})

for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'a.b', 'Bytes', '\u0000']) {
  test(`the field ${JSON.stringify(name)} is unknown, whatever it means elsewhere`, async () => {
    const answer = await send(withField(`${JSON.stringify(name)}: {"bytes": 1}`))
    assertRefused(answer, 400, 'parameter_unknown', name)
  })
}

test('a prototype sent along gives no field a value', async () => {
  const answer = await send('{"__proto__": {"site": "a", "filename": "b", "bytes": 1, "sha256": "c"}}')
  assertRefused(answer, 400, 'parameter_unknown', '__proto__')
})

const wrongValues: [name: string, value: string][] = [
  ['bytes', '1.5'],
  ['bytes', '"5"'],
  ['bytes', '[5]'],
  ['bytes', 'null'],
  ['bytes', 'true'],
  ['bytes', '{}'],
  ['bytes', '-0'],
  ['bytes', '9007199254740993'],
  ['bytes', '18446744073709551616'],
  ['bytes', '1e400'],
  ['bytes', '1e-3'],
  ['part_size', '8000000.5'],
  ['part_size', '"8000000"'],
  ['part_size', 'null'],
  ['part_size', '2147483648'],
  ['site', '5'],
  ['site', 'null'],
  ['site', '["lab"]'],
  ['site', '{"name": "lab"}'],
  ['filename', 'false'],
  ['sha256', '0'],
  ['sha256', 'null'],
  ['device', '7'],
  ['device', 'null'],
  ['notes', 'null'],
  ['notes', '["a"]'],
]
for (const [name, value] of wrongValues) {
  test(`${name}: ${value} is refused by name`, async () => {
    const fields = Object.entries(newSession()).filter(([other]) => other !== name)
    const text = fields.map(([other, given]) => `${JSON.stringify(other)}: ${JSON.stringify(given)}`)
    assertRefused(await send(`{${[...text, `"${name}": ${value}`].join()}}`), 400, 'parameter_invalid', name)
  })
}

test('a number that is whole in another spelling is that number', async () => {
  for (const bytes of ['1000.0', '1e3', '10.0E2']) {
    const { status, body } = await send(
      `{"site": "lab", "filename": "x", "sha256": "${'0'.repeat(64)}", "bytes": ${bytes}}`,
    )
    assert.equal(status, 201)
    assert.equal((await retrieve(idIn(body))).bytes, 1000)
  }
})

test('a body of just under 2 MiB is read, one byte over is too large', async () => {
  const empty = withField('"notes": ""').length
  const fitting = withField(`"notes": "${'a'.repeat(MAX_BODY_BYTES - empty)}"`)
  assert.equal(fitting.length, MAX_BODY_BYTES)
  assertRefused(await send(fitting), 400, 'parameter_invalid', 'notes')
  assertRefused(await send(`${fitting} `), 400, 'body_too_large')
})

test('a body many times too large is refused so that the client can read it', async () => {
  assertRefused(await send('x'.repeat(20 * MAX_BODY_BYTES)), 400, 'body_too_large')
})

test('a chunked body that grows too large is refused on the way', async () => {
  const raw = await openRaw(service.url)
  const headers = {
    Authorization: `Bearer ${service.key}`,
    'Content-Type': JSON_TYPE,
    'Transfer-Encoding': 'chunked',
  }
  await raw.send(head('POST', `${service.url}/v1/sessions`, headers))
  await raw.send(chunk(Buffer.alloc(MAX_BODY_BYTES, ' ')))
  await raw.send(chunk(Buffer.alloc(1, ' ')))
  assertRefused(await raw.answer(), 400, 'body_too_large')
  raw.hangUp()
})

test('a chunked body without Content-Length is a body like any other', async () => {
  const raw = await openRaw(service.url)
  const headers = {
    Authorization: `Bearer ${service.key}`,
    'Content-Type': JSON_TYPE,
    'Transfer-Encoding': 'chunked',
  }
  await raw.send(head('POST', `${service.url}/v1/sessions`, headers))
  await raw.send(Buffer.concat([chunk(Buffer.from(JSON.stringify(newSession()))), chunk(Buffer.alloc(0))]))
  assert.equal((await raw.answer()).status, 201)
  raw.hangUp()
})

for (const [what, text] of Object.entries({
  'a million arrays deep': '['.repeat(1_000_000) + ']'.repeat(1_000_000),
  'a field that is 300,000 objects deep': withField(
    `"notes": ${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`,
  ),
  'a text of a million escapes': withField(`"notes": "${'\\n'.repeat(1_000_000)}"`),
  'a million quotes': withField(`"notes": "${'\\"'.repeat(1_000_000)}"`),
  '100,000 fields': `{${Array.from({ length: 100_000 }, (_, index) => `"${index}":0`).join()}}`,
})) {
  test(`a body of ${what} is refused like any other`, async () => {
    assert.ok(text.length <= MAX_BODY_BYTES)
    assert.equal((await send(text)).status, 400)
  })
}

test('after all of it the service still creates sessions', async () => {
  assert.equal((await send(JSON.stringify(newSession()))).status, 201)
})

function newSession() {
  return { site: 'lab', filename: 'run.mcap', bytes: 1000, sha256: '0'.repeat(64) }
}

/** A valid body with one more field, in the very words given. */
function withField(field: string): string {
  return `${JSON.stringify(newSession()).slice(0, -1)}, ${field}}`
}

async function send(
  body: string | Uint8Array<ArrayBuffer>,
  type?: string,
  path = '/v1/sessions',
): Promise<Answer> {
  const isText = typeof body === 'string'
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${service.key}`,
      ...((type ?? isText) && { 'Content-Type': type ?? JSON_TYPE }),
    },
    body,
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function idIn(body: unknown): string {
  const id: unknown = typeof body === 'object' && body ? Reflect.get(body, 'id') : undefined
  return String(id)
}

async function retrieve(id: string): Promise<Session> {
  return (await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })).body
}
