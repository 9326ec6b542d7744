import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errorCodes, errorStatus, errorType } from '@tapedeck/contract'
import { readConfig } from './packages/server/src/config.ts'

const api = readFileSync('docs/api.md', 'utf8')
const readme = readFileSync('README.md', 'utf8')

test('docs/api.md lists every error code with its status, type, meaning and remedy, and no other', () => {
  const rows = [...api.matchAll(/^\| (\d{3}) \| `(\w+)` \| `(\w+)` \| (.*?) \| (.*?) \|$/gm)].map(
    ([, status, type, code, meaning, remedy]) => ({ status: Number(status), type, code, meaning, remedy }),
  )
  const expected = (Object.keys(errorCodes) as (keyof typeof errorCodes)[]).map((code) => ({
    status: errorStatus(code),
    type: errorType(code),
    code,
    meaning: errorCodes[code].meaning,
    remedy: errorCodes[code].remedy,
  }))
  assert.deepEqual(rows, expected)
})

test('the README lists every variable that the configuration reads, and no other', () => {
  const listed = [...readme.matchAll(/^\| `((?:TAPEDECK_|DATABASE_)\w+)` \|/gm)].map(([, name]) => name)
  const read = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  assert.deepEqual(listed.sort(), [...read].sort())
})

test('links between documents lead somewhere', () => {
  for (const file of [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/api.md',
    'docs/operating.md',
  ]) {
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/\]\(([^)#]+)\)/g)) {
      if (!target.includes('://'))
        assert.doesNotThrow(() => readFileSync(target), `${file} links to ${target}`)
    }
  }
})
