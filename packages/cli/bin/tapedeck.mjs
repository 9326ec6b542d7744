#!/usr/bin/env node
// Finds the pinned Node and hands over to src/main.ts, which it can run as it is.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from '../../../scripts/ensure-installed.mjs'
import { pinnedNode } from '../../../scripts/pinned-node.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')

try {
  ensureInstalled(root, { dev: false })
  const main = join(root, 'packages', 'cli', 'src', 'main.ts')
  const child = spawn(
    pinnedNode(root),
    ['--disable-warning=ExperimentalWarning', main, ...process.argv.slice(2)],
    {
      // The channel tells the child when we are gone, however we went.
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      // What was compiled once is not compiled again: half of the time that a small command takes.
      env: { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'tapedeck'), ...process.env },
    },
  )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
} catch (error) {
  process.stderr.write(`tapedeck: ${error.message}\n`)
  process.exitCode = 1
}
