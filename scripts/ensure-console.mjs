// Builds the console when what it is made of has changed since it was built, so that `npm start` needs no step before
// it and the second start is immediate. Runs on Node 20.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const SOURCES = [
  'packages/console/index.html',
  'packages/console/package.json',
  'packages/console/vite.config.ts',
  'packages/console/public',
  'packages/console/src',
  'packages/contract/src',
  'packages/sdk/src',
  'packages/analysis/src/issue.ts',
  'package-lock.json',
  'scripts/ensure-console.mjs',
]

export function ensureConsole(root, node) {
  const dist = join(root, 'packages/console/dist')
  const wanted = hashOf(root)
  if (builtFrom(dist) === wanted) return
  process.stderr.write('building the console (only the first time, or after an update) …\n')
  const fresh = `${dist}-${process.pid}`
  try {
    build(root, node, fresh)
    compress(fresh)
    writeFileSync(join(fresh, '.sources'), wanted)
    replace(dist, fresh)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function hashOf(root) {
  const hash = createHash('sha256')
  for (const source of SOURCES) {
    for (const file of filesIn(root, source)) hash.update(`${file}\n`).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex')
}

function filesIn(root, path) {
  try {
    const entries = readdirSync(join(root, path), { withFileTypes: true })
    return entries
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => filesIn(root, `${path}/${entry.name}`))
  } catch (error) {
    if (error.code === 'ENOTDIR') return [path]
    throw error
  }
}

function builtFrom(dist) {
  try {
    return readFileSync(join(dist, '.sources'), 'utf8')
  } catch {
    return undefined
  }
}

function build(root, node, outDir) {
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  const args = [
    vite,
    'build',
    '--config',
    'packages/console/vite.config.ts',
    '--outDir',
    outDir,
    '--emptyOutDir',
  ]
  const { status, error } = spawnSync(node, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`the console could not be built (${status ?? error?.message})`)
}

/** Once here, instead of for every browser. */
function compress(dir) {
  for (const name of readdirSync(dir, { recursive: true })) {
    if (!/\.(js|css|svg)$/.test(name)) continue
    writeFileSync(join(dir, `${name}.gz`), gzipSync(readFileSync(join(dir, name)), { level: 9 }))
  }
}

/** Of two that build at once the later one wins; a service that runs has read its files already. */
function replace(dist, fresh) {
  const old = `${fresh}-old`
  try {
    renameSync(dist, old)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  renameSync(fresh, dist)
  rmSync(old, { recursive: true, force: true })
}
