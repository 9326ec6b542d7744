import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BLOCK_BYTES, MAX_ASKED, openAskedSource } from '../src/processing/asked-source.ts'

const bytes = new Uint8Array(5 * BLOCK_BYTES + 12_345).map((_, index) => (index * 7 + (index >> 12)) % 256)

/** A source that counts what is asked for, and how much of it at once. */
function open() {
  const counts = { asked: 0, most: 0, now: 0 }
  const source = openAskedSource(bytes.length, async (offset, length) => {
    counts.asked++
    counts.most = Math.max(counts.most, ++counts.now)
    await new Promise(setImmediate)
    counts.now--
    return bytes.slice(offset, offset + length)
  })
  return { source, counts }
}

test('whatever is read, in whatever order, is what is there', async () => {
  const { source, counts } = open()
  const ranges = fc.array(
    fc.tuple(fc.nat(bytes.length), fc.nat(2 * BLOCK_BYTES)).map(([at, length]) => ({
      at,
      length: Math.min(length, bytes.length - at),
    })),
  )
  await fc.assert(
    fc.asyncProperty(ranges, async (wanted) => {
      const found = await Promise.all(wanted.map(({ at, length }) => source.read(at, length)))
      for (const [index, { at, length }] of wanted.entries())
        assert.equal(Buffer.compare(found[index] ?? new Uint8Array(), bytes.subarray(at, at + length)), 0)
    }),
    { seed: 20_260_314, numRuns: 50 },
  )
  assert.ok(counts.most <= MAX_ASKED)
})

test('small reads in order ask for each block once', async () => {
  const { source, counts } = open()
  for (let at = 0; at < bytes.length; at += 1000) await source.read(at, Math.min(1000, bytes.length - at))
  assert.equal(counts.asked, 6)
})

test('a block that could not be had is asked for again', async () => {
  let tries = 0
  const source = openAskedSource(10, async (offset, length) => {
    if (++tries === 1) throw new Error('on purpose')
    return bytes.slice(offset, offset + length)
  })
  await assert.rejects(source.read(0, 10), /on purpose/)
  assert.deepEqual(await source.read(0, 10), bytes.slice(0, 10))
})

test('what is outside of the recording is an error', async () => {
  const { source } = open()
  await assert.rejects(source.read(0, bytes.length + 1), RangeError)
  await assert.rejects(source.read(-1, 1), RangeError)
})
