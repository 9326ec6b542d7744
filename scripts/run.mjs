// node scripts/run.mjs [--dev] [--console] FILE [ARGUMENT …]
// Installs what is missing, builds the console if it is asked for, then runs FILE on the pinned Node. Runs on Node 20.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureConsole } from './ensure-console.mjs'
import { ensureInstalled } from './ensure-installed.mjs'
import { pinnedNode } from './pinned-node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const first = given.findIndex((argument) => argument !== '--dev' && argument !== '--console')
const wishes = first === -1 ? given : given.slice(0, first)
const args = given.slice(wishes.length)

try {
  ensureInstalled(root, { dev: wishes.includes('--dev') })
  const node = pinnedNode(root)
  if (wishes.includes('--console')) ensureConsole(root, node)
  run(node)
} catch (error) {
  process.stderr.write(`tapedeck: ${error.message}\n`)
  process.exitCode = 1
}

function run(node) {
  // The channel tells the child when we are gone, however we went; a killed parent leaves no orphan.
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    env: {
      // What was compiled once is not compiled again, here and in the processes that it starts.
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'tapedeck'),
      // A part that is being synced holds a thread. Of the four that Node has by itself, four parts leave none to read.
      UV_THREADPOOL_SIZE: '16',
      ...process.env,
    },
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
