import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  checksum,
  createSession,
  putBytes,
  putPart,
  recording,
  SMALLEST_PART,
  sha256,
  urlOf,
} from './support/client.ts'
import { partFiles } from './support/disk.ts'
import { assertNothingKept, receivedDigests } from './support/received.ts'
import { assertRefused } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

test('a part is answered with 200, no body, and the quoted hex digest as its ETag', async () => {
  const bytes = recording(1)
  const answer = await putPart(await onlyUrl(bytes), bytes)
  assert.equal(answer.status, 200)
  assert.equal(answer.body, undefined)
  assert.equal(answer.headers.get('etag'), `"${sha256(bytes).toString('hex')}"`)
  assert.match(answer.headers.get('request-id') ?? '', /^req_/)
})

test('a part needs no bearer token, and a wrong one does not matter', async () => {
  const bytes = recording(1, 2)
  const answer = await putPart(await onlyUrl(bytes), bytes, { Authorization: 'Bearer svc_live_wrong' })
  assert.equal(answer.status, 200)
})

for (const type of ['application/octet-stream', 'application/json', 'text/plain; charset=latin1', 'x']) {
  test(`bytes declared as ${type} are taken as bytes`, async () => {
    const bytes = recording(1, 3)
    assert.equal((await putPart(await onlyUrl(bytes), bytes, { 'Content-Type': type })).status, 200)
  })
}

for (const word of ['amz', 'goog', 'tapedeck', 'S3']) {
  test(`the checksum may come as x-${word}-checksum-sha256`, async () => {
    const bytes = recording(1, 4)
    const answer = await putBytes(await onlyUrl(bytes), bytes, {
      [`x-${word}-checksum-sha256`]: sha256(bytes).toString('base64'),
    })
    assert.equal(answer.status, 200)
  })
}

for (const name of [
  'x-checksum-sha256',
  'amz-checksum-sha256',
  'x-amz-checksum-sha1',
  'x--checksum-sha256',
]) {
  test(`${name} is not the checksum header`, async () => {
    const bytes = recording(1, 5)
    const answer = await putBytes(await onlyUrl(bytes), bytes, { [name]: sha256(bytes).toString('base64') })
    assertRefused(answer, 400, 'checksum_required')
  })
}

test('a part without a checksum is refused and nothing is kept', async () => {
  const bytes = recording(1, 6)
  const session = await createSession(service, bytes)
  assertRefused(await putBytes(urlOf(session), bytes), 400, 'checksum_required', 'x-amz-checksum-sha256')
  await assertNothingKept(service, session.id)
})

for (const [what, value] of Object.entries({
  'the hex digest': sha256(recording(1, 7)).toString('hex'),
  'base64 of 31 bytes': Buffer.alloc(31).toString('base64'),
  'base64 without its padding': Buffer.alloc(32).toString('base64').slice(0, -1),
  'base64 with stray bits': `${'A'.repeat(42)}B=`,
  nothing: '',
})) {
  test(`${what} is no checksum`, async () => {
    const bytes = recording(1, 7)
    const answer = await putBytes(await onlyUrl(bytes), bytes, { 'x-amz-checksum-sha256': value })
    assertRefused(answer, 400, 'parameter_invalid', 'x-amz-checksum-sha256')
  })
}

test('two checksums that differ are refused', async () => {
  const bytes = recording(1, 8)
  const answer = await putPart(await onlyUrl(bytes), bytes, {
    'x-goog-checksum-sha256': Buffer.alloc(32).toString('base64'),
  })
  assert.equal(answer.status, 400)
})

test('a corrupted part is refused and nothing of it is kept', async () => {
  const bytes = recording(1, 9)
  const session = await createSession(service, bytes)
  const corrupted = bytes.slice()
  corrupted[500] = (corrupted[500] ?? 0) ^ 1
  const answer = await putBytes(urlOf(session), corrupted, checksum(bytes))
  assertRefused(answer, 400, 'part_checksum_mismatch')
  await assertNothingKept(service, session.id)
})

for (const length of [0, 999, 1001]) {
  test(`a part of ${length} bytes where 1000 belong is refused and nothing is kept`, async () => {
    const session = await createSession(service, recording(1, 10))
    const answer = await putPart(urlOf(session), new Uint8Array(length))
    assertRefused(answer, 400, 'part_size_mismatch')
    await assertNothingKept(service, session.id)
  })
}

test('every part but the last must be part_size long', async () => {
  const bytes = recording(2, 11)
  const session = await createSession(service, bytes)
  const answer = await putPart(urlOf(session, 1), bytes.slice(0, SMALLEST_PART - 1))
  assertRefused(answer, 400, 'part_size_mismatch')
})

test('the same part sent again replaces the one before, and its bytes are removed', async () => {
  const [first, second] = [recording(1, 17), recording(1, 18)]
  const session = await createSession(service, first)
  await putPart(urlOf(session), first)
  assert.equal((await putPart(urlOf(session), second)).status, 200)
  assert.deepEqual(await receivedDigests(service, session.id), [sha256(second).toString('hex')])
  await until('only the second is on disk', () => isOnlyFile(session.id, sha256(second).toString('hex')))
})

test('the very same part sent again is kept once', async () => {
  const bytes = recording(1, 19)
  const session = await createSession(service, bytes)
  for (let time = 0; time < 3; time++) assert.equal((await putPart(urlOf(session), bytes)).status, 200)
  assert.deepEqual(await receivedDigests(service, session.id), [sha256(bytes).toString('hex')])
  await until('one copy is on disk', () => isOnlyFile(session.id, sha256(bytes).toString('hex')))
})

test('of the same part sent many times at once one whole one is kept', async () => {
  const versions = Array.from({ length: 6 }, (_, index) => recording(1, 20 + index))
  const session = await createSession(service, recording(1))
  const answers = await Promise.all(versions.map((bytes) => putPart(urlOf(session), bytes)))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    versions.map(() => 200),
  )
  const [kept = ''] = await receivedDigests(service, session.id)
  assert.ok(versions.some((bytes) => sha256(bytes).toString('hex') === kept))
  await until('only the kept one is on disk', () => isOnlyFile(session.id, kept))
})

test('a corrupted part sent again leaves the good one in place', async () => {
  const bytes = recording(1, 30)
  const session = await createSession(service, bytes)
  await putPart(urlOf(session), bytes)
  await putBytes(urlOf(session), new Uint8Array(1000), checksum(bytes))
  assert.deepEqual(await receivedDigests(service, session.id), [sha256(bytes).toString('hex')])
  assert.ok(await isOnlyFile(session.id, sha256(bytes).toString('hex')))
})

async function onlyUrl(bytes: Uint8Array): Promise<string> {
  return urlOf(await createSession(service, bytes))
}

async function isOnlyFile(sessionId: string, digest: string): Promise<boolean> {
  const files = await partFiles(service.dataDir, sessionId, 1)
  return files.length === 1 && Boolean(files[0]?.includes(digest))
}
