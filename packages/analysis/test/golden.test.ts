import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { analyseBytes, summaryOf } from './support/analyse-bytes.ts'

// The files that the readers are tested with, and what is concluded of each. After a change that is meant,
// UPDATE_GOLDEN=1 writes that anew.

const fixtures = join(import.meta.dirname, '../../formats/fixtures')
const names = readdirSync(fixtures).filter((name) => !name.endsWith('.json'))

suite('golden pairs', () => {
  for (const name of names) {
    test(name, async () => {
      const bytes = new Uint8Array(readFileSync(join(fixtures, name)))
      const concluded = summaryOf(await analyseBytes(bytes, name))
      const path = join(import.meta.dirname, 'golden', `${name}.json`)
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, `${JSON.stringify(concluded, null, 2)}\n`)
      assert.ok(existsSync(path), 'there is nothing to compare with')
      assert.deepEqual(concluded, JSON.parse(readFileSync(path, 'utf8')))
    })
  }
})
