import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
// biome-ignore lint/correctness/useImportExtensions: what starts the service runs without types, on Node 20 too
import { ensureConsole } from '../../../scripts/ensure-console.mjs'

const root = join(import.meta.dirname, '..', '..', '..')
const dist = join(root, 'packages', 'console', 'dist')

before(() => ensureConsole(root, process.execPath))

const FIRST_LOAD_BYTES = 250_000

test('the first load is under 250 kB, the sessions with all that they import', () => {
  const names = readdirSync(join(dist, 'assets'))
  const page = readFileSync(join(dist, 'index.html'), 'utf8')
  const sessions = names.filter((name) => /^sessions-.*\.js$/.test(name))
  assert.equal(sessions.length, 1)
  const loaded = new Set<string>()
  const load = (name: string): void => {
    if (loaded.has(name)) return
    loaded.add(name)
    if (!name.endsWith('.js')) return
    const code = readFileSync(join(dist, 'assets', name), 'utf8')
    // What is imported at once; `import()` is for later.
    for (const [, other = ''] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) load(other)
  }
  for (const [, name = ''] of page.matchAll(/\/console\/assets\/([^"]+)/g)) load(name)
  for (const name of sessions) load(name)
  assert.ok(loaded.size > 5)
  const bytes = [...loaded].reduce(
    (sum, name) => sum + readFileSync(join(dist, 'assets', `${name}.gz`)).length,
    0,
  )
  assert.ok(bytes < FIRST_LOAD_BYTES, `the first load is ${bytes} bytes: ${[...loaded].join(', ')}`)
})

test('no page has a script, style or handler in itself', () => {
  const page = readFileSync(join(dist, 'index.html'), 'utf8')
  assert.doesNotMatch(page, /<style|<script(?![^>]* src=)|\son\w+=|javascript:/)
})

test('what is built is not built again', () => {
  const built = readFileSync(join(dist, '.sources'), 'utf8')
  // A node that does not exist: it is not needed.
  assert.doesNotThrow(() => ensureConsole(root, '/nowhere/node'))
  assert.equal(readFileSync(join(dist, '.sources'), 'utf8'), built)
})
