import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type HashedPart, openPrefixHashes } from '../src/storage/prefix-hash.ts'

const SESSION = 'ses_x'
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

/** Parts of different bytes, and a storage that counts what is read of it. */
function makeFile(count: number) {
  const bytes = Array.from({ length: count }, (_, index) => Buffer.alloc(1000 + index, index + 1))
  const objects = new Map(bytes.map((part, index) => [`object ${index + 1}`, part]))
  const reads: string[] = []
  const storage = {
    async read(object: string, offset: number, length: number) {
      reads.push(object)
      const found = objects.get(object)
      if (!found) throw new Error(`${object} is gone`)
      return new Uint8Array(found.subarray(offset, offset + length))
    },
  }
  let wanted: number | undefined = 1
  const prefixes = openPrefixHashes(storage, (_, number) => {
    wanted = number
  })
  const parts: HashedPart[] = bytes.map((part, index) => ({
    number: index + 1,
    bytes: part.length,
    sha256: sha256(part).toString('hex'),
    object: `object ${index + 1}`,
  }))
  const add = (number: number, teed: boolean) => {
    const [part, content] = [parts[number - 1], bytes[number - 1]]
    if (!part || !content) throw new Error(`no part ${number}`)
    const tee = teed ? prefixes.tee(SESSION, count, number) : undefined
    tee?.hash.update(content)
    prefixes.add(SESSION, count, part, tee)
    return tee !== undefined
  }
  const replace = (number: number, content: Buffer<ArrayBuffer>) => {
    bytes[number - 1] = content
    objects.delete(`object ${number}`)
    objects.set(`object ${number} again`, content)
    parts[number - 1] = {
      number,
      bytes: content.length,
      sha256: sha256(content).toString('hex'),
      object: `object ${number} again`,
    }
  }
  return {
    prefixes,
    parts,
    reads,
    add,
    replace,
    wanted: () => wanted,
    whole: () => sha256(Buffer.concat(bytes)),
  }
}

test('parts sent in order are hashed as they stream and never read again', async () => {
  const file = makeFile(4)
  for (const number of [1, 2, 3, 4]) assert.ok(file.add(number, true))
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
  assert.deepEqual(file.reads, [])
})

test('parts that arrive ahead of the prefix are read once, when it reaches them', async () => {
  const file = makeFile(4)
  for (const number of [3, 2, 4, 1]) file.add(number, true)
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
  assert.deepEqual(file.reads, ['object 2', 'object 3', 'object 4'])
})

test('only what was not hashed yet is read at the end', async () => {
  const file = makeFile(4)
  file.add(1, true)
  file.add(2, true)
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
  assert.deepEqual(file.reads, ['object 3', 'object 4'])
})

test('nothing known, as after a restart: everything is read', async () => {
  const file = makeFile(3)
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
  assert.deepEqual(file.reads, ['object 1', 'object 2', 'object 3'])
})

test('a part sent again with other bytes rewinds', async () => {
  const file = makeFile(3)
  for (const number of [1, 2, 3]) file.add(number, true)
  file.replace(2, Buffer.from('other bytes'))
  file.add(2, false)
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
})

test('a part sent again with the same bytes changes nothing', async () => {
  const file = makeFile(3)
  for (const number of [1, 2, 3]) file.add(number, true)
  file.add(2, false)
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
  assert.deepEqual(file.reads, [])
})

test('a part replaced on another node is noticed by its digest', async () => {
  const file = makeFile(3)
  for (const number of [1, 2, 3]) file.add(number, true)
  file.replace(1, Buffer.from('other bytes'))
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
})

test('an abandoned part leaves the prefix as it was', async () => {
  const file = makeFile(2)
  const tee = file.prefixes.tee(SESSION, 2, 1)
  assert.ok(tee)
  tee.hash.update('half of a part')
  file.prefixes.abandon(SESSION, tee)
  assert.ok(file.add(1, true), 'the next try is hashed along again')
  file.add(2, true)
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
})

test('a part that cannot be read is the fault of the digest, not of the arrival', async () => {
  const file = makeFile(3)
  file.add(2, false)
  file.add(1, false)
  file.replace(2, Buffer.from('x'))
  assert.deepEqual(await file.prefixes.digest(SESSION, file.parts), file.whole())
})

test('a file of one part is not hashed twice', () => {
  const file = makeFile(1)
  assert.equal(file.add(1, true), false)
})

test('it says which part it would hash as it streams: the next, and none while it is busy', async () => {
  const file = makeFile(5)
  file.add(1, true)
  assert.equal(file.wanted(), 2)
  file.add(3, true)
  assert.equal(file.wanted(), 2)
  file.add(2, false)
  // Parts 2 and 3 are being read.
  await file.prefixes.digest(SESSION, file.parts.slice(0, 3))
  assert.equal(file.wanted(), 4)
  const tee = file.prefixes.tee(SESSION, 5, 4)
  assert.ok(tee)
  assert.equal(file.prefixes.tee(SESSION, 5, 5), undefined)
  assert.equal(file.wanted(), undefined, 'one at a time')
  file.prefixes.abandon(SESSION, tee)
  assert.equal(file.wanted(), 4)
  file.prefixes.forget(SESSION)
  file.add(4, true)
  assert.equal(file.wanted(), 1, 'nothing is known any more')
})

test('however many sessions catch up, few parts are read at once', async () => {
  let [reading, most] = [0, 0]
  const storage = {
    async read(_object: string, _offset: number, length: number) {
      most = Math.max(most, ++reading)
      await new Promise((resolve) => setImmediate(resolve))
      reading--
      return new Uint8Array(length)
    },
  }
  const prefixes = openPrefixHashes(storage, () => {})
  const content = new Uint8Array(1000)
  const part = { number: 1, bytes: content.length, sha256: sha256(content).toString('hex'), object: 'x' }
  const sessions = Array.from({ length: 40 }, (_, index) => `ses_${index}`)
  for (const session of sessions) prefixes.add(session, 2, part, undefined)
  const digests = await Promise.all(sessions.map((session) => prefixes.digest(session, [part])))
  assert.ok(digests.every((digest) => digest.equals(sha256(content))))
  assert.equal(most, 4)
})
