import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

// Who may import whom, as ARCHITECTURE.md draws it. A room may always import from itself.

const packages: Record<string, string[]> = {
  contract: [],
  formats: [],
  analysis: ['contract', 'formats'],
  server: ['contract', 'analysis'],
  console: ['contract', 'analysis', 'sdk'],
  sdk: ['contract'],
  cli: ['server', 'sdk', 'analysis'],
}

/** Rooms of the server: folders, and the single files at its top. */
const rooms: Record<string, string[]> = {
  main: ['app', 'config', 'welcome'],
  app: [
    'access',
    'clock',
    'config',
    'console',
    'db',
    'http',
    'jobs',
    'operate',
    'processing',
    'sandbox',
    'secrets',
    'sessions',
    'storage',
    'webhooks',
  ],
  admin: ['access', 'clock', 'config', 'console', 'db', 'operate', 'storage'],
  welcome: ['access', 'app'],
  http: [
    'access',
    'clock',
    'console',
    'db',
    'devices',
    'errors',
    'ids',
    'jobs',
    'operate',
    'secrets',
    'segments',
    'sessions',
    'storage',
    'webhooks',
  ],
  processing: [
    'clock',
    'db',
    'devices',
    'exact-json',
    'ids',
    'jobs',
    'sandbox',
    'sessions',
    'slots',
    'storage',
    'webhooks',
  ],
  sandbox: ['clock', 'db', 'ids', 'storage'],
  console: ['access', 'clock', 'db', 'errors', 'ids', 'secrets'],
  devices: ['access', 'cursor', 'db', 'errors', 'secrets'],
  sessions: [
    'access',
    'clock',
    'cursor',
    'db',
    'errors',
    'exact-json',
    'ids',
    'jobs',
    'secrets',
    'storage',
    'time',
  ],
  segments: ['access', 'cursor', 'db', 'errors', 'exact-json', 'ids', 'secrets', 'time'],
  webhooks: ['access', 'clock', 'cursor', 'db', 'errors', 'ids', 'jobs', 'secrets', 'time'],
  operate: ['db', 'jobs', 'sessions', 'storage'],
  access: ['clock', 'db', 'errors', 'ids'],
  jobs: ['db'],
  storage: ['errors', 'ids', 'slots'],
  db: ['errors', 'exact-json'],
  cursor: ['errors', 'secrets'],
  time: ['errors'],
  config: [],
  'exact-json': [],
  clock: [],
  errors: [],
  ids: [],
  secrets: [],
  slots: [],
}

type Import = { from: string; to: string; file: string }

test('packages import only those that they stand on', () => {
  const wrong = packageImports().filter(({ from, to }) => from !== to && !packages[from]?.includes(to))
  assert.deepEqual(wrong, [])
})

test('rooms of the server import only those that they stand on', () => {
  const wrong = roomImports().filter(({ from, to }) => from !== to && !rooms[from]?.includes(to))
  assert.deepEqual(wrong, [])
})

test('every permission to import is used', () => {
  const used = new Set(roomImports().map(({ from, to }) => `${from} → ${to}`))
  const unused = Object.entries(rooms).flatMap(([from, list]) =>
    list.map((to) => `${from} → ${to}`).filter((arrow) => !used.has(arrow)),
  )
  assert.deepEqual(unused, [])
})

test('no file imports itself through others', () => {
  const graph = new Map<string, string[]>()
  for (const file of sources('packages/*/src')) graph.set(file, localImports(file, valuesOnly))
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    assert.ok(!path.includes(file), `a cycle: ${[...path, file].join(' → ')}`)
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
})

test('a scan and the threads of the intake start without the library of schemas', () => {
  // Hundreds of modules: loaded for every recording, they were half of the time in which a small one is scanned.
  for (const start of ['processing/scan-child', 'storage/intake-thread', 'storage/prefix-thread']) {
    const reached = new Set([`packages/server/src/${start}.ts`])
    for (const file of reached) for (const next of valueImports(file)) reached.add(next)
    const heavy = [...reached].filter((file) => / from 'typebox/.test(readFileSync(file, 'utf8')))
    assert.deepEqual(heavy, [], start)
  }
})

test('the environment is read in config.ts, and by the command line that hands it on', () => {
  const readers = sources('packages/*/src').filter((file) =>
    readFileSync(file, 'utf8').includes('process.env'),
  )
  assert.deepEqual(
    readers.filter((file) => !file.startsWith('packages/cli/') && file !== 'packages/server/src/main.ts'),
    [],
  )
})

test('only errors and the contract know status codes of refusals', () => {
  const naming = sources('packages/server/src').filter((file) =>
    /\.code\(4\d\d\)/.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(naming, [])
})

function sources(folder: string): string[] {
  return globSync(`${folder}/**/*.ts`)
    .filter((file) => !file.endsWith('.test.ts'))
    .sort()
}

function packageImports(): Import[] {
  return sources('packages/*/src').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/from '@tapedeck\/(\w+)/g)].map(([, to = '']) => ({
      from: file.split('/')[1] ?? '',
      to,
      file,
    })),
  )
}

function roomImports(): Import[] {
  return sources('packages/server/src').flatMap((file) =>
    localImports(file).map((target) => ({ from: roomOf(file), to: roomOf(target), file })),
  )
}

/** Imports of types alone are gone when the code runs, and so is a circle of them. */
const valuesOnly = /^(?:import|export) (?!type )[^'"]*?from '(\.[^']+)'/gm

function localImports(file: string, pattern = /from '(\.[^']+)'/g): string[] {
  return [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, target = '']) =>
    relative('.', resolve(join(dirname(file), target))),
  )
}

/** Our own files that are loaded with this one. */
function valueImports(file: string): string[] {
  const ofPackages = /^(?:import|export) (?!type )[^'"]*?from '@tapedeck\/(\w+)(?:\/([\w-]+))?'/gm
  const others = [...readFileSync(file, 'utf8').matchAll(ofPackages)].map(
    ([, name, part = 'index']) => `packages/${name}/src/${part}.ts`,
  )
  return [...localImports(file, valuesOnly), ...others]
}

function roomOf(file: string): string {
  const [first = ''] = relative('packages/server/src', file).split('/')
  return first.replace(/\.ts$/, '')
}
