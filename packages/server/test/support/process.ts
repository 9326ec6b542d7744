import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilGone } from '../embedded/processes.ts'
import { undoAfter } from '../embedded/undo.ts'
import type { Ending } from './ending.ts'
import { shellEnv } from './shell-env.ts'

// The service as a process of its own, as an operator runs it, so that it can be killed.

export const repository = join(import.meta.dirname, '..', '..', '..', '..')
const main = 'packages/server/src/main.ts'

/** How a process is run: the service itself, or what `npm start` runs. */
export const commands = {
  service: [process.execPath, '--disable-warning=ExperimentalWarning', main],
  npmStart: ['node', 'scripts/run.mjs', main],
}

export type Exit = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type Running = {
  pid: number
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
  /** From now on nobody reads what it says. */
  closeOutput(): void
  /** When nobody writes to its output any more: it has ended, and whom it started with our pipes. */
  exited: Promise<Exit>
}

export type RunningService = Running & {
  url: string
  /** Shown by the first start on a data directory, and by no other. */
  key: string | undefined
}

type Settings = { dataDir: string; env?: Record<string, string>; command?: string[] }

/** Runs it with nothing of our environment but what a shell needs; ended with the test, should it still run. */
export function run(t: Ending, { dataDir, env = {}, command = commands.service }: Settings): Running {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: repository,
    env: {
      ...shellEnv(),
      TAPEDECK_PORT: '0',
      TAPEDECK_DATA_DIR: dataDir,
      TAPEDECK_RATE_LIMIT: '1000000',
      TAPEDECK_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: collect(child.stdout), stderr: collect(child.stderr) }
  if (process.env.TEST_LOG !== undefined) child.stderr.pipe(process.stderr)
  const exited = untilExit(child, output)
  undoAfter(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await exited
    const postmaster = postmasterOf(dataDir)
    if (postmaster !== undefined) await untilGone(postmaster)
  })
  return {
    pid: child.pid ?? 0,
    ...output,
    kill: (signal) => void child.kill(signal),
    closeOutput() {
      child.stdout.destroy()
      child.stderr.destroy()
    },
    exited,
  }
}

/** Runs the service and waits until it says that it is ready. */
export async function startProcess(t: Ending, settings: Settings): Promise<RunningService> {
  const running = run(t, settings)
  await until(running, /Tapedeck is ready\.[\s\S]*\n\n$/)
  const said = running.stdout()
  const url = /^ {2}(?:API|Health) +(\S+)\/(?:v1|readyz)$/m.exec(said)?.[1]
  if (!url) throw new Error(`the service does not say where it is: ${said}`)
  return { ...running, url, key: /^ {2}(svc_live_\S+)$/m.exec(said)?.[1] }
}

/** The pid in the lock of the embedded PostgreSQL, if there is one. */
export function postmasterOf(dataDir: string): number | undefined {
  const lock = join(dataDir, 'pg18', 'postmaster.pid')
  return existsSync(lock) ? Number(readFileSync(lock, 'utf8').split('\n')[0]) : undefined
}

async function until({ stdout, exited }: Running, text: RegExp): Promise<void> {
  const deadlineMs = Date.now() + 60_000
  while (!text.test(stdout())) {
    const exit = await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, 10))])
    if (exit) throw new Error(`the service ended before it was ready: ${JSON.stringify(exit)}`)
    if (Date.now() > deadlineMs) throw new Error(`the service is not ready after 60 s: ${stdout()}`)
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return () => text
}

async function untilExit(
  child: ChildProcess,
  output: { stdout: () => string; stderr: () => string },
): Promise<Exit> {
  const [code, signal] = await once(child, 'close')
  return { code, signal, stdout: output.stdout(), stderr: output.stderr() }
}
