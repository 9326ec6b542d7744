import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { newId } from '../../src/ids.ts'
import { openRecording } from '../../src/storage/recording.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** What every backend of the storage must do. `list` names all objects that are there. */
export function storageSuite(
  name: string,
  open: () => Promise<{ storage: Storage; list: () => Promise<string[]> }>,
): void {
  const newSession = () => newId('ses', Date.now())
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

  const announced = (sessionId: string, number: number, bytes: Uint8Array) => ({
    sessionId,
    number,
    bytes: bytes.length,
    sha256: sha256(bytes),
  })

  async function keep(
    storage: Storage,
    sessionId: string,
    number: number,
    bytes: Uint8Array,
  ): Promise<string> {
    const writer = await storage.openPart(announced(sessionId, number, bytes))
    await writer.write([bytes])
    return writer.keep()
  }

  test(`${name}: what was kept is read back, whole and in ranges`, async () => {
    const { storage } = await open()
    const bytes = Buffer.from('0123456789')
    const object = await keep(storage, newSession(), 1, bytes)
    assert.deepEqual(Buffer.from(await storage.read(object, 0, 10)), bytes)
    assert.equal(Buffer.from(await storage.read(object, 3, 4)).toString(), '3456')
  })

  test(`${name}: a read past the end is an error, never short`, async () => {
    const { storage } = await open()
    const object = await keep(storage, newSession(), 1, Buffer.from('0123456789'))
    await assert.rejects(storage.read(object, 5, 6))
  })

  test(`${name}: an object is there only after keep`, async () => {
    const { storage, list } = await open()
    const writer = await storage.openPart(announced(newSession(), 1, Buffer.from('abc')))
    await writer.write([Buffer.from('abc')])
    assert.deepEqual(await list(), [])
    const object = await writer.keep()
    assert.deepEqual(await list(), [object])
  })

  test(`${name}: a discarded part leaves nothing`, async () => {
    const { storage, list } = await open()
    const writer = await storage.openPart(announced(newSession(), 1, Buffer.from('abc')))
    await writer.write([Buffer.from('abc')])
    await writer.discard()
    assert.deepEqual(await list(), [])
  })

  test(`${name}: the same part kept twice makes two objects, and removing one leaves the other`, async () => {
    const { storage, list } = await open()
    const session = newSession()
    const first = await keep(storage, session, 1, Buffer.from('abc'))
    const second = await keep(storage, session, 1, Buffer.from('abc'))
    assert.notEqual(first, second)
    await storage.remove([first])
    assert.deepEqual(await list(), [second])
  })

  test(`${name}: removing what is not there is a success`, async () => {
    const { storage } = await open()
    const session = newSession()
    const object = await keep(storage, session, 1, Buffer.from('abc'))
    await storage.remove([object, object])
    await storage.removeSession(session)
    await storage.removeSession(newSession())
  })

  test(`${name}: removing a session removes its objects and no other`, async () => {
    const { storage, list } = await open()
    const [gone, stays] = [newSession(), newSession()]
    await keep(storage, gone, 1, Buffer.from('abc'))
    await keep(storage, gone, 2, Buffer.from('def'))
    const kept = await keep(storage, stays, 1, Buffer.from('ghi'))
    await storage.removeSession(gone)
    assert.deepEqual(await list(), [kept])
  })

  test(`${name}: many chunks, empty ones among them, are written in order`, async () => {
    const { storage } = await open()
    const chunks = Array.from({ length: 3000 }, (_, index) => Buffer.alloc(index % 5, index % 251))
    const bytes = Buffer.concat(chunks)
    const writer = await storage.openPart(announced(newSession(), 1, bytes))
    await writer.write(chunks)
    const object = await writer.keep()
    assert.deepEqual(Buffer.from(await storage.read(object, 0, bytes.length)), bytes)
  })

  test(`${name}: a recording is read across its parts`, async () => {
    const { storage } = await open()
    const session = newSession()
    const pieces = ['abc', 'defg', 'h'].map((text) => Buffer.from(text))
    const parts = []
    for (const [index, piece] of pieces.entries()) {
      parts.push({ object: await keep(storage, session, index + 1, piece), bytes: piece.length })
    }
    const recording = openRecording(storage, parts)
    const whole = 'abcdefgh'
    assert.equal(recording.size(), whole.length)
    for (let from = 0; from <= whole.length; from++) {
      for (let to = from; to <= whole.length; to++) {
        assert.equal(Buffer.from(await recording.read(from, to - from)).toString(), whole.slice(from, to))
      }
    }
    await assert.rejects(recording.read(0, whole.length + 1), RangeError)
  })

  test(`${name}: a walk comes by every object once with its age, and goes on behind any place`, async () => {
    const { storage, list } = await open()
    for (let session = 0; session < 5; session++) {
      const id = newSession()
      for (const number of [1, 2]) await keep(storage, id, number, Buffer.from('abc'))
    }
    const all = await list()
    const pages = await Array.fromAsync(storage.walk(''))
    const objects = pages.flatMap((page) => page.objects)
    assert.deepEqual(objects.map((object) => object.name).sort(), all)
    for (const { name: object, ageMs } of objects)
      assert.ok(Math.abs(ageMs) < 600_000, `${object} is ${ageMs} ms old`)
    for (const [index, { place }] of pages.entries()) {
      const behind = (await Array.fromAsync(storage.walk(place))).flatMap((page) => page.objects)
      const expected = pages.slice(index + 1).flatMap((page) => page.objects)
      assert.deepEqual(
        behind.map((object) => object.name),
        expected.map((object) => object.name),
      )
    }
  })

  test(`${name}: a part on its way is no object that a walk comes by`, async () => {
    const { storage } = await open()
    const writer = await storage.openPart(announced(newSession(), 1, Buffer.from('abc')))
    await writer.write([Buffer.from('abc')])
    assert.deepEqual(await Array.fromAsync(storage.walk('')), [])
    await writer.discard()
  })

  test(`${name}: the probe tries the storage and leaves nothing`, async () => {
    const { storage, list } = await open()
    await storage.probe()
    assert.deepEqual(await list(), [])
  })
}
