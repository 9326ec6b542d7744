import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

// A Redis of the test's own, where the machine has one.

/** Why tests with Redis do not run here; false where they do. */
export const needsRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0
    ? false
    : 'not run: there is no redis-server on the PATH (Debian: apt-get install redis-server)'

export type TestRedis = {
  url: string
  password: string
  kill(signal: NodeJS.Signals): void
  /** Starts it again, empty, after it was killed. */
  revive(): Promise<void>
  close(): Promise<void>
}

export async function startRedis(): Promise<TestRedis> {
  const port = await freePort()
  const password = 'a-password-of-this-test-alone'
  let server = await start(port, password)
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    password,
    kill: (signal) => void server.kill(signal),
    async revive() {
      await end(server)
      server = await start(port, password)
    },
    close: () => end(server),
  }
}

async function start(port: number, password: string): Promise<ChildProcess> {
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no', requirepass: password }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const chunk of server.stdout) {
    said += chunk
    if (said.includes('Ready to accept connections')) break
  }
  if (server.exitCode !== null) throw new Error(`redis-server ended: ${said}`)
  return server
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill('SIGKILL')
  await once(server, 'exit')
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  await delay(0)
  return port
}
