import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { detect, formats, HEAD_BYTES } from '../src/index.ts'
import { bytesSource, collect } from './support/collect.ts'
import { toJson } from './support/outcome.ts'

// Pairs of a file and what is told of it. After a change that is meant, UPDATE_GOLDEN=1 writes the second anew.

const folder = join(import.meta.dirname, '../fixtures')
const names = readdirSync(folder).filter((name) => !name.endsWith('.json'))

suite('golden pairs', () => {
  const seen = new Set<string>()

  for (const name of names) {
    test(name, async () => {
      const bytes = new Uint8Array(readFileSync(join(folder, name)))
      const { reader } = await detect(bytes.subarray(0, HEAD_BYTES), name)
      assert.ok(reader, 'no reader knows it')
      seen.add(reader.format)
      const told = toJson(await collect(reader, bytesSource(bytes), { full: true }))
      const path = join(folder, `${name}.json`)
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, `${JSON.stringify(told, null, 2)}\n`)
      assert.ok(existsSync(path), 'there is nothing to compare with')
      assert.deepEqual(told, JSON.parse(readFileSync(path, 'utf8')))
    })
  }

  test('every format has one', () => {
    assert.deepEqual([...seen].sort(), [...formats].sort())
  })
})
