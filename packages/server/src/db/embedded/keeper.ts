/**
 * Runs a program that ends when we end, however we end. A shell forks off a keeper and then becomes the program,
 * so the child's pid is the program's. The keeper waits on a pipe from us: a word means that the program has ended,
 * the end of the pipe means that we have, and then it asks the program to stop (SIGINT, a fast shutdown of
 * PostgreSQL). A killed keeper closes the pipe on our side, and we send the signal ourselves.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Account } from './unprivileged.ts'

// The keeper is forked twice: PostgreSQL takes a child that it did not start for a crashed backend.
const script = '( (read -r word <&3 || kill -INT $$) </dev/null >/dev/null 2>&1 & ); exec "$@" 3<&-'

export type Kept = { child: ChildProcess; pid: number; exited: Promise<Exit> }
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** `output` is the file descriptor for all that the program prints. */
export async function spawnKept(
  command: string[],
  account: Account,
  output: number,
  env: NodeJS.ProcessEnv = {},
): Promise<Kept> {
  const child = spawn('/bin/sh', ['-c', script, 'keeper', ...account.prefix, ...command], {
    ...account.ids,
    cwd: '/',
    // Nothing of ours: PGPORT and its like would change the server, and our secrets are not for it.
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...env },
    // A session of its own, so that Ctrl-C reaches us only and we stop in order.
    detached: true,
    stdio: ['ignore', output, output, 'pipe'],
  })
  if (child.pid === undefined) {
    const [cause] = await once(child, 'error')
    throw new Error('/bin/sh could not be run, which starts PostgreSQL', { cause })
  }
  const { promise: exited, resolve } = Promise.withResolvers<Exit>()
  child.once('exit', (code, signal) => resolve({ code, signal }))
  tie(child)
  return { child, pid: child.pid, exited }
}

function tie(child: ChildProcess): void {
  const pipe = child.stdio[3]
  if (!(pipe instanceof Socket)) throw new Error('the pipe to the keeper is missing')
  pipe.on('error', () => {}) // writing to a killed keeper; its close is heard as well
  pipe.on('close', () => child.kill('SIGINT'))
  pipe.resume()
  child.once('exit', () => pipe.end('ended\n'))
}
