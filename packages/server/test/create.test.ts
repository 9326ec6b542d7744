import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type CreatedSession,
  DEFAULT_PART_BYTES,
  MAX_FILE_BYTES,
  MAX_NAME_CHARACTERS,
  MAX_NOTES_CHARACTERS,
  MAX_PART_BYTES,
  MAX_PARTS,
  MIN_PART_BYTES,
  type Session,
} from '@tapedeck/contract'
import { type Answer, call } from './support/client.ts'
import { testClock } from './support/clock.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'

const MIB = 2 ** 20
const clock = testClock()
let service: Service
before(async () => {
  service = await startService({ clock })
})
after(() => service.close())

test('the numbers of the contract are the numbers of the code', () => {
  assert.deepEqual(
    [MIN_PART_BYTES, MAX_PART_BYTES, DEFAULT_PART_BYTES, MAX_PARTS, MAX_FILE_BYTES],
    [8_000_000, 512 * MIB, 64 * MIB, 10_000, 10_000 * 512 * MIB],
  )
})

test('creating a session answers 201 with the partial session and nothing else', async () => {
  const { status, body } = await create({ bytes: 2 * MIN_PART_BYTES, part_size: MIN_PART_BYTES })
  assert.equal(status, 201)
  assert.deepEqual(Object.keys(body), ['id', 'object', 'status', 'upload'])
  assert.deepEqual(Object.keys(body.upload), ['part_size', 'expires_at', 'parts'])
  assert.equal(body.object, 'session')
  assert.equal(body.status, 'uploading')
  assert.equal(body.upload.part_size, MIN_PART_BYTES)
  assert.deepEqual(
    body.upload.parts.map((part) => [Object.keys(part), part.number]),
    [
      [['number', 'url'], 1],
      [['number', 'url'], 2],
    ],
  )
})

test('an id is the prefix and more than 128 random bits', async () => {
  const ids = await Promise.all([1, 2, 3, 4].map(async () => (await create()).body.id))
  assert.equal(new Set(ids).size, ids.length)
  // 26 characters of base32 hold 130 bits; what ids of the same time share is at their beginning.
  for (const id of ids) assert.match(id, /^ses_[0-9a-v]{26,}$/)
  const tails = ids.map((id) => id.slice(-26))
  for (let place = 0; place < 26; place += 13) {
    assert.equal(new Set(tails.map((tail) => tail.slice(place, place + 13))).size, ids.length)
  }
})

test('part URLs are signed, one for each part, under the upload address', async () => {
  const { body } = await create({ bytes: 3 * MIN_PART_BYTES, part_size: MIN_PART_BYTES })
  const urls = body.upload.parts.map((part) => part.url)
  assert.equal(new Set(urls).size, 3)
  for (const url of urls) assert.ok(url.startsWith(`${service.url}/upload/${body.id}/`), url)
})

for (const { bytes, count } of [
  { bytes: 1, count: 1 },
  { bytes: MIN_PART_BYTES - 1, count: 1 },
  { bytes: MIN_PART_BYTES, count: 1 },
  { bytes: MIN_PART_BYTES + 1, count: 2 },
  { bytes: MAX_PARTS * MIN_PART_BYTES, count: MAX_PARTS },
]) {
  test(`${bytes} bytes in parts of ${MIN_PART_BYTES} are ${count} parts`, async () => {
    const { body } = await create({ bytes, part_size: MIN_PART_BYTES })
    assert.deepEqual(
      body.upload.parts.map((part) => part.number),
      Array.from({ length: count }, (_, index) => index + 1),
    )
  })
}

for (const { bytes, partSize } of [
  { bytes: 1, partSize: 64 * MIB },
  { bytes: MAX_PARTS * 64 * MIB, partSize: 64 * MIB },
  { bytes: MAX_PARTS * 64 * MIB + 1, partSize: 65 * MIB },
  { bytes: MAX_PARTS * 65 * MIB, partSize: 65 * MIB },
  { bytes: MAX_FILE_BYTES, partSize: MAX_PART_BYTES },
]) {
  test(`without part_size a file of ${bytes} bytes gets parts of ${partSize}`, async () => {
    const { status, body } = await create({ bytes, part_size: undefined })
    assert.equal(status, 201)
    assert.equal(body.upload.part_size, partSize)
    assert.equal(body.upload.parts.length, Math.ceil(bytes / partSize))
  })
}

for (const partSize of [MIN_PART_BYTES, 8 * MIB, MAX_PART_BYTES]) {
  test(`part_size ${partSize} is taken as given`, async () => {
    const { body } = await create({ part_size: partSize })
    assert.equal(body.upload.part_size, partSize)
  })
}

for (const partSize of [MIN_PART_BYTES - 1, MAX_PART_BYTES + 1, 0, -1]) {
  test(`part_size ${partSize} is refused, not clamped`, async () => {
    assertRefused(await create({ part_size: partSize }), 400, 'parameter_invalid', 'part_size')
  })
}

test('a part_size that makes more than 10,000 parts is refused on part_size', async () => {
  const answer = await create({ bytes: MAX_PARTS * MIN_PART_BYTES + 1, part_size: MIN_PART_BYTES })
  assertRefused(answer, 400, 'parameter_invalid', 'part_size')
})

for (const bytes of [0, -1, MAX_FILE_BYTES + 1]) {
  test(`a file of ${bytes} bytes is refused on bytes`, async () => {
    assertRefused(await create({ bytes }), 400, 'parameter_invalid', 'bytes')
  })
}

for (const name of ['site', 'filename', 'bytes', 'sha256']) {
  test(`${name} is required`, async () => {
    assertRefused(await create({ [name]: undefined }), 400, 'parameter_invalid', name)
  })
}

test('device, notes and part_size may be left out', async () => {
  const { status } = await create({ device: undefined, notes: undefined, part_size: undefined })
  assert.equal(status, 201)
})

test('a digest in capitals is taken and given back in lower case', async () => {
  const { body } = await create({ sha256: 'ABCDEF0123456789'.repeat(4) })
  assert.equal((await retrieve(body.id)).sha256, 'abcdef0123456789'.repeat(4))
})

for (const sha256 of ['', 'a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}g`, `${'a'.repeat(64)}\n`]) {
  test(`${JSON.stringify(sha256)} is no sha256`, async () => {
    assertRefused(await create({ sha256 }), 400, 'parameter_invalid', 'sha256')
  })
}

for (const name of ['site', 'device', 'filename']) {
  test(`${name} takes ${MAX_NAME_CHARACTERS} characters of any script`, async () => {
    const text = '🎞'.repeat(MAX_NAME_CHARACTERS)
    const { body } = await create({ [name]: text })
    assert.equal(Reflect.get(await retrieve(body.id), name), text)
  })

  for (const text of ['', 'x'.repeat(MAX_NAME_CHARACTERS + 1), '🎞'.repeat(MAX_NAME_CHARACTERS + 1)]) {
    test(`${name} of ${[...text].length} characters is refused`, async () => {
      assertRefused(await create({ [name]: text }), 400, 'parameter_invalid', name)
    })
  }

  for (const character of ['\0', '\n', '\t', '\x1f', '\x7f', '\x85']) {
    test(`${name} with the control character ${JSON.stringify(character)} is refused`, async () => {
      assertRefused(await create({ [name]: `a${character}b` }), 400, 'parameter_invalid', name)
    })
  }
}

test('notes are kept as they were sent, lines and tabs included', async () => {
  const notes = `first line\r\n\tsecond ${'ß'.repeat(100)} "quoted" \\ 🎞`
  const { body } = await create({ notes })
  assert.equal((await retrieve(body.id)).notes, notes)
})

test('notes take 10,000 characters and not one more', async () => {
  assert.equal((await create({ notes: '🎞'.repeat(MAX_NOTES_CHARACTERS) })).status, 201)
  const answer = await create({ notes: '🎞'.repeat(MAX_NOTES_CHARACTERS + 1) })
  assertRefused(answer, 400, 'parameter_invalid', 'notes')
})

for (const character of ['\0', '\x1b', '\x7f']) {
  test(`notes with the control character ${JSON.stringify(character)} are refused`, async () => {
    assertRefused(await create({ notes: `a${character}b` }), 400, 'parameter_invalid', 'notes')
  })
}

test('upload URLs live for 24 hours, and expires_at says so in UTC', async () => {
  const beforeMs = clock.now()
  const { body } = await create()
  const afterMs = clock.now()
  assert.match(body.upload.expires_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const signedMs = Date.parse(body.upload.expires_at) - 24 * 3600_000
  // Whole seconds: never less than 24 hours, and less than one more.
  assert.ok(signedMs >= beforeMs && signedMs < afterMs + 1000, `signed at ${signedMs}, asked at ${beforeMs}`)
})

test('a site is created on first use and shared afterwards', async () => {
  await create({ site: 'new hall' })
  await create({ site: 'new hall' })
  const sites = await service.database.db
    .selectFrom('sites')
    .select('name')
    .where('name', '=', 'new hall')
    .execute()
  assert.equal(sites.length, 1)
})

test('an unknown field is refused by name, never ignored', async () => {
  assertRefused(await create({ partsize: 1 }), 400, 'parameter_unknown', 'partsize')
})

test('a refused create leaves no session behind', async () => {
  const count = async () => (await service.database.db.selectFrom('sessions').select('id').execute()).length
  const before = await count()
  await create({ bytes: 0 })
  await create({ bytes: MAX_PARTS * MIN_PART_BYTES + 1, part_size: MIN_PART_BYTES })
  assert.equal(await count(), before)
})

function create(fields: object = {}): Promise<Answer<CreatedSession>> {
  const body = {
    site: 'lab',
    filename: 'run.mcap',
    bytes: 1000,
    sha256: '0'.repeat(64),
    device: 'amr-07',
    notes: 'a note',
    ...fields,
  }
  return call<CreatedSession>(service.url, 'POST', '/v1/sessions', { key: service.key, body })
}

async function retrieve(id: string): Promise<Session> {
  return (await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })).body
}
