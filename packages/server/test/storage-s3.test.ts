import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { MAX_PART_BYTES } from '@tapedeck/contract'
import { newId } from '../src/ids.ts'
import { openClient } from '../src/storage/s3/client.ts'
import { examine } from '../src/storage/s3/examine.ts'
import { sign } from '../src/storage/s3/sign.ts'
import { openS3 } from '../src/storage/s3/store.ts'
import { ObjectLost, type Storage, StorageUnavailable } from '../src/storage/storage.ts'
import { type FaultyStore, openFaultyStore } from './support/faulty-store.ts'
import { credentials, objectsOf, startStore, type TestStore } from './support/s3.ts'
import { storageSuite } from './support/storage-suite.ts'

let store: TestStore
before(async () => {
  store = await startStore(28)
})
after(() => store.close())

storageSuite('s3', async () => {
  const bucket = store.bucket()
  return { storage: await openS3(bucket), list: () => objectsOf(bucket) }
})

const bytes = new Uint8Array(2 ** 20).map((_, index) => index % 251)
const sha256 = createHash('sha256').update(bytes).digest('hex')
const part = () => ({ sessionId: newId('ses', Date.now()), number: 1, bytes: bytes.length, sha256 })

async function keep(storage: Storage): Promise<string> {
  const writer = await storage.openPart(part())
  try {
    await writer.write([bytes])
    return await writer.keep()
  } catch (error) {
    await writer.discard()
    throw error
  }
}

/** A storage whose store can be made to fail, and one that sees what is really there. */
async function openFaulty(t: { after(undo: () => Promise<void>): void }) {
  const bucket = store.bucket()
  const faults: FaultyStore = await openFaultyStore(bucket)
  t.after(() => faults.close())
  return { faults, storage: await openS3(faults.settings), list: () => objectsOf(bucket) }
}

test('s3: what the store enforces is found out, and leaves nothing', async () => {
  const bucket = store.bucket()
  assert.deepEqual(await examine(bucket), store.enforced)
  assert.deepEqual(await objectsOf(bucket), [])
})

test('s3: wrong keys and a bucket that is not there are told at the start, a store that is away is waited for', async () => {
  const bucket = store.bucket()
  const stranger = { ...bucket, credentials: { ...credentials, secretAccessKey: 'wrong' } }
  await assert.rejects(examine(stranger), /bucket-\S+: 403 SignatureDoesNotMatch/)
  await assert.rejects(examine({ ...bucket, bucket: 'nowhere' }), /nowhere: 40[34]/)
  assert.equal(await examine({ ...bucket, endpoint: 'http://127.0.0.1:1' }), undefined)
})

test('s3: bytes that the client announced otherwise are refused by the store too', async () => {
  const bucket = store.bucket()
  const storage = await openS3({ ...bucket, comparesChecksums: store.enforced.checksumSha256 })
  const writer = await storage.openPart({ ...part(), sha256: createHash('sha256').digest('hex') })
  await writer.write([bytes])
  await assert.rejects(writer.keep(), StorageUnavailable)
  assert.deepEqual(await objectsOf(bucket), [])
})

test('s3: where the store compares checksums the signature does not name the body, and the part is kept', async () => {
  const bucket = store.bucket()
  const storage = await openS3({ ...bucket, comparesChecksums: true })
  const object = await keep(storage)
  assert.deepEqual(new Uint8Array(await storage.read(object, 0, bytes.length)), bytes)
})

test('s3: reads, removals and probes are tried again when the store is busy, cuts off or loses its answer', async (t) => {
  const { faults, storage, list } = await openFaulty(t)
  const object = await keep(storage)
  faults.inject('busy', (method) => method === 'GET')
  faults.inject('cut', (method) => method === 'GET')
  faults.inject('answer lost', (method) => method === 'GET')
  assert.deepEqual(new Uint8Array(await storage.read(object, 0, bytes.length)), bytes)
  faults.inject('busy', (method) => method === 'POST')
  faults.inject('answer lost', (method) => method === 'POST')
  await storage.remove([object])
  faults.inject('answer lost', (method) => method === 'PUT')
  await storage.probe()
  assert.equal(faults.happened(), 6)
  assert.deepEqual(await list(), [])
})

test('s3: a store that stays busy makes the storage unavailable, it does not make an object lost', async (t) => {
  const { faults, storage } = await openFaulty(t)
  const object = await keep(storage)
  faults.inject('busy', () => true, 100)
  await assert.rejects(storage.read(object, 0, 10), StorageUnavailable)
  await assert.rejects(storage.probe(), StorageUnavailable)
  await assert.rejects(keep(storage), StorageUnavailable)
})

for (const fault of ['busy', 'cut', 'cut in the body', 'answer lost'] as const) {
  test(`s3: a part whose way to the store meets "${fault}" is refused and leaves nothing`, async (t) => {
    const { faults, storage, list } = await openFaulty(t)
    faults.inject(fault, (method) => method === 'PUT')
    await assert.rejects(keep(storage), StorageUnavailable)
    assert.equal(faults.happened(), 1)
    assert.deepEqual(await list(), [])
    await keep(storage)
  })
}

test('s3: an object that is gone is lost, and so is one that is shorter than its row says', async () => {
  const bucket = store.bucket()
  const storage = await openS3(bucket)
  const object = await keep(storage)
  await assert.rejects(storage.read(object, bytes.length - 10, 20), ObjectLost)
  await assert.rejects(storage.read(object, bytes.length + 1, 20), ObjectLost)
  await storage.remove([object])
  await assert.rejects(storage.read(object, 0, 10), ObjectLost)
})

test('s3: more objects than one page and one deletion hold are removed with their session', async () => {
  const bucket = store.bucket()
  const storage = await openS3(bucket)
  const sessionId = newId('ses', Date.now())
  const one = { sessionId, bytes: 1, sha256: createHash('sha256').update('x').digest('hex') }
  const numbers = Array.from({ length: 1005 }, (_, index) => index + 1)
  // The store takes eight at once.
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
        const writer = await storage.openPart({ ...one, number })
        await writer.write([Buffer.from('x')])
        await writer.keep()
      }
    }),
  )
  const pages = await Array.fromAsync(storage.walk(''))
  // Stores cut pages as they like.
  const all = pages.flatMap(({ objects }) => objects.map(nameOf))
  assert.deepEqual([new Set(all).size, all.length], [1005, 1005])
  const [first, ...others] = pages
  assert.ok(first && others.length > 0 && first.objects.length <= 1000)
  const behind = await Array.fromAsync(storage.walk(first.place))
  assert.deepEqual(
    behind.flatMap(({ objects }) => objects.map(nameOf)),
    all.slice(first.objects.length),
  )
  await storage.removeSession(sessionId)
  assert.deepEqual(await objectsOf(bucket), [])
})

const nameOf = ({ name }: { name: string }) => name

test('s3: probes that a killed process has left are removed when they are old enough, and nothing else', async () => {
  const bucket = store.bucket()
  const storage = await openS3(bucket)
  const object = await keep(storage)
  const client = await openClient(bucket)
  await client.send({ method: 'PUT', key: 'probes/0123456789abcdef', body: Buffer.from('x') })
  await client.send({ method: 'PUT', key: 'other/0123456789abcdef', body: Buffer.from('x') })
  client.close()
  await storage.removeLeftovers(3600_000)
  assert.equal((await objectsOf(bucket)).length, 3)
  // The store tells times in whole seconds.
  await storage.removeLeftovers(-10_000)
  assert.deepEqual(await objectsOf(bucket), ['other/0123456789abcdef', object])
})

test('s3: without keys those of the machine are used', async (t) => {
  const server = http.createServer((_, response) => {
    const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey } = credentials
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ AccessKeyId, SecretAccessKey, Token: 't', Expiration: '2099-01-01T00:00:00Z' }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `http://127.0.0.1:${port}/`
  t.after(() => {
    delete process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI
    server.closeAllConnections()
    server.close()
  })
  const client = await openClient({ ...store.bucket(), credentials: undefined })
  const { headers } = await client.signed({ method: 'GET', bodySha256: nothing })
  assert.ok(headers.authorization?.includes(`Credential=${credentials.accessKeyId}/`))
  assert.equal(headers['x-amz-security-token'], 't')
})

test('s3: the largest part fits in one PUT of every store', () => {
  assert.ok(MAX_PART_BYTES < 5 * 2 ** 30)
})

// The worked examples of AWS's own documentation of the signature.
const example = {
  region: 'us-east-1',
  credentials: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  },
  now: new Date('2013-05-24T00:00:00Z'),
}
const host = 'examplebucket.s3.amazonaws.com'
const nothing = createHash('sha256').digest('hex')
const signatureOf = (request: Partial<Parameters<typeof sign>[0]>) =>
  sign(
    { method: 'GET', host, path: '/', query: {}, headers: {}, bodySha256: nothing, ...request },
    example,
  ).authorization?.split('Signature=')[1]

test('s3: requests are signed as in the examples of AWS', () => {
  assert.equal(
    signatureOf({ path: '/test.txt', headers: { Range: 'bytes=0-9' } }),
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
  assert.equal(
    signatureOf({
      method: 'PUT',
      path: '/test%24file.text',
      headers: { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      bodySha256: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    }),
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  )
  assert.equal(
    signatureOf({ query: { prefix: 'J', 'max-keys': '2' } }),
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  )
})
