// npm run test:ceph [-- STORE …] [-- COMMAND …]: runs the tests of the storage on real stores of this machine, Ceph and
// OpenStack Swift unless some are named, or a command with the store in its environment. Debian and root; takes minutes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { startCeph } from './stores/ceph.ts'
import { type Store, storeEnv } from './stores/store.ts'
import { startSwift } from './stores/swift.ts'

const stores: Record<string, () => Promise<Store>> = { ceph: startCeph, swift: startSwift }
const tests = ['storage-s3', 's3-service', 'roles'].map((name) => `packages/server/test/${name}.test.ts`)

const given = process.argv.slice(2)
const border = given.indexOf('--')
const named = border === -1 ? given : given.slice(0, border)
const command = border === -1 ? [] : given.slice(border + 1)
const unknown = named.find((name) => !Object.hasOwn(stores, name))
if (unknown !== undefined) refuse(`no store is named ${unknown}; there are ${Object.keys(stores).join(', ')}`)
if (process.getuid?.() !== 0)
  refuse('run it as root: it installs packages below /var/cache and mounts /proc there')

let child: ChildProcess | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => (child ? child.kill(signal) : process.exit(130)))

let failed = false
for (const [name, start] of Object.entries(stores)) {
  if (named.length > 0 && !named.includes(name)) continue
  process.stdout.write(`${name}: is being started …\n`)
  const store = await start()
  try {
    process.stdout.write(`${name}: ${store.endpoint}\n`)
    if ((await runOn(store)) !== 0) failed = true
  } finally {
    await store.stop()
  }
}
process.exitCode = failed ? 1 : 0

async function runOn(store: Store): Promise<number> {
  const [program = '', ...args] =
    command.length > 0 ? command : [process.execPath, 'scripts/test.ts', ...tests]
  child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...storeEnv(store) } })
  const [code] = await once(child, 'exit')
  child = undefined
  return code ?? 1
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(2)
}
