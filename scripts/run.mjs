// node scripts/run.mjs [--dev] FILE [ARGUMENT …]
// Installs what is missing, then runs FILE on the pinned Node. Runs on Node 20.
import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from './ensure-installed.mjs'
import { pinnedNode } from './pinned-node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dev = process.argv[2] === '--dev'
const args = process.argv.slice(dev ? 3 : 2)

try {
  ensureInstalled(root, { dev })
  run(pinnedNode(root))
} catch (error) {
  process.stderr.write(`tapedeck: ${error.message}\n`)
  process.exitCode = 1
}

function run(node) {
  // The channel tells the child when we are gone, however we went; a killed parent leaves no orphan.
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  // A terminal sends Ctrl-C to the whole group, a supervisor only to us: the child must hear of it once or twice.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
  if (process.env.npm_lifecycle_event) exitWithParent(child)
}

/** Started by npm: when npm is killed nobody would forward signals any more. */
function exitWithParent(child) {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM')
  }, 500).unref()
}
