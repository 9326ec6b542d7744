import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { issueCodes } from '@tapedeck/analysis'
import { attemptErrors, errorCodes, errorStatus, errorType, eventTypes } from '@tapedeck/contract'
import { readConfig } from './packages/server/src/config.ts'
import { sign } from './packages/server/src/webhooks/sign.ts'

const api = readFileSync('docs/api.md', 'utf8')
const webhooks = readFileSync('docs/webhooks.md', 'utf8')
const issues = readFileSync('docs/issues.md', 'utf8')
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
  const listed = [...readme.matchAll(/^\| `((?:TAPEDECK|DATABASE|REDIS|S3|AWS)_\w+)` \|/gm)].map(
    ([, name]) => name,
  )
  const read = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  assert.deepEqual(listed.sort(), [...read].sort())
})

test('docs/webhooks.md lists every error of an attempt and every event, and no other', () => {
  const errors = [...webhooks.matchAll(/^\| `([a-z_]+)` \| (.*?) \|$/gm)].map(([, name = '', meaning]) => [
    name,
    meaning,
  ])
  assert.deepEqual(Object.fromEntries(errors.filter(([name]) => name !== 'ping')), attemptErrors)
  const events = [...webhooks.matchAll(/^\| `([a-z]+\.[a-z]+)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(events, [...eventTypes])
})

test('the worked example of a signature is right', () => {
  const [, secret = ''] = /`(whsec_[^…`]+)`/.exec(webhooks) ?? []
  const [, time = '', signature] = /^Service-Signature: (?:t=(\d+)),(v1=.*)$/m.exec(webhooks) ?? []
  const [, body = ''] = /^(\{"id":"evt_.*\})$/m.exec(webhooks) ?? []
  assert.equal(sign(body, [secret], Number(time) * 1000), `t=${time},${signature}`)
})

test('docs/issues.md explains every issue code, and no other', () => {
  const rows = [...issues.matchAll(/^\| `(\w+)` \| (info|warning|error) \| (.*?) \| (.*?) \|$/gm)].map(
    ([, code = '', severity, meaning, remedy]) => [code, { severity, meaning, remedy }],
  )
  assert.deepEqual(Object.fromEntries(rows), issueCodes)
})

test('links between documents lead somewhere', () => {
  for (const file of [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/api.md',
    'docs/cli.md',
    'docs/sdk.md',
    'docs/operating.md',
    'docs/scale.md',
  ]) {
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/\]\(([^)#]+)\)/g)) {
      if (!target.includes('://'))
        assert.doesNotThrow(() => readFileSync(join(dirname(file), target)), `${file} links to ${target}`)
    }
  }
})
