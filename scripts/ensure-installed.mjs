// Compares the lockfile with what npm says it installed, and installs only when they differ, so that
// `npm start` needs no `npm install` before it and the second start is immediate. Runs on Node 20.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function ensureInstalled(root, { dev }) {
  const missing = missingPackages(root, dev)
  if (missing.length === 0) return
  process.stderr.write(`installing ${missing.length} packages (only the first time, or after an update) …\n`)
  // Without scripts: nothing here depends on a post-install step. `install`, not `ci`: it never removes
  // packages under a service that is running from the same folder.
  const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  if (!dev) args.push('--omit=dev')
  const npm = process.env.npm_execpath
  const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const result = spawnSync(command, [...first, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
  if (result.status !== 0) throw new Error(`npm install failed (${result.status ?? result.error?.message})`)
}

function missingPackages(root, dev) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'))
  return (
    Object.entries(wanted)
      .filter(([path, entry]) => path.includes('node_modules/') && isForHere(entry) && (dev || !entry.dev))
      .filter(([path, entry]) => installed[path]?.version !== entry.version)
      // Those of tools come with what needs them, or npm has its reasons to leave them out: it would every time.
      .filter(([, entry]) => !(entry.dev && entry.optional))
      .map(([path]) => path)
  )
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch (error) {
    if (error.code === 'ENOENT') return {}
    throw error
  }
}

/** npm leaves out optional packages made for other platforms. */
function isForHere({ os, cpu, libc }) {
  return (
    allows(os, process.platform) &&
    allows(cpu, process.arch) &&
    (libc === undefined || allows(libc, libcName()))
  )
}

/** A list names what is allowed, or with `!` what is not; some packages write one name without a list. */
function allows(names, value) {
  const list = [names ?? []].flat()
  const allowed = list.filter((name) => !name.startsWith('!'))
  return !list.includes(`!${value}`) && (allowed.length === 0 || allowed.includes(value))
}

function libcName() {
  if (process.platform !== 'linux') return undefined
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
}
