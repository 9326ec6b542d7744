import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detect, formats, HEAD_BYTES, shelf } from '../src/index.ts'
import { writeMcap } from './support/mcap-writer.ts'

const text = Buffer.from('time,x\n0.1,1\n0.2,2\n')

async function mcapHead(): Promise<Uint8Array> {
  return (await writeMcap()).bytes.subarray(0, HEAD_BYTES)
}

test('a file is what its first bytes say, whatever its name', async () => {
  const { reader, byMagic, byName } = await detect(await mcapHead(), 'drive.csv')
  assert.deepEqual([reader?.format, byMagic?.format, byName?.format], ['mcap', 'mcap', 'csv'])
})

test('a file whose first bytes say nothing is what its name says', async () => {
  const { reader, byMagic, byName } = await detect(new Uint8Array(64), 'Drive.MCAP')
  assert.deepEqual([reader?.format, byMagic?.format, byName?.format], ['mcap', undefined, 'mcap'])
})

test('a file of which neither says anything has no reader', async () => {
  assert.deepEqual(await detect(new Uint8Array(64), 'notes.doc'), {
    reader: undefined,
    byMagic: undefined,
    byName: undefined,
  })
})

test('an empty file is what its name says', async () => {
  assert.equal((await detect(new Uint8Array(), 'drive.bag')).reader?.format, 'rosbag')
})

test('text is a table, if its name says so', async () => {
  assert.equal((await detect(text, 'imu.csv')).reader?.format, 'csv')
})

test('no two readers want the same ending, and all formats differ', async () => {
  const endings = shelf.flatMap(({ extensions }) => extensions)
  assert.deepEqual(endings, [...new Set(endings)])
  assert.ok(endings.every((ending) => /^\.[a-z0-9.]+$/.test(ending)))
  const readers = await Promise.all(shelf.map(({ load }) => load()))
  const known = readers.map(({ format }) => format)
  assert.deepEqual(known, [...new Set(known)])
  assert.ok(known.every((format) => formats.includes(format)))
})
