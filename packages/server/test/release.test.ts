import assert from 'node:assert/strict'
import { test } from 'node:test'
import { release } from '../src/storage/release.ts'

test('bytes alone in their memory are given back at once', () => {
  const bytes = Buffer.allocUnsafe(2 ** 20)
  release(bytes)
  assert.equal(bytes.buffer.byteLength, 0)
})

test('bytes that share their memory leave the others as they are', () => {
  const memory = new Uint8Array(8).fill(7)
  release(memory.subarray(2, 4))
  assert.deepEqual([...memory], Array(8).fill(7))
})
