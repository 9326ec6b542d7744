import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Stage } from './stage.ts'

// What is measured runs in processes of its own, on the same Node as the bench.

export type Running = {
  pid: number
  /** What the pattern found in the output. */
  found: string[]
  /** What it prints after that. */
  output: Readable | null
  stop(): Promise<void>
}

const READY_WITHIN_MS = 60_000

/** Starts a script and waits until its output has what the pattern asks for. */
export async function startProcess(
  stage: Stage,
  args: string[],
  pattern: RegExp,
  env: NodeJS.ProcessEnv = {},
): Promise<Running> {
  // The channel tells a script of ours that the bench is gone, however it went.
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await exited
  }
  stage.after(stop)
  const found = await untilPrinted(child, pattern, args.join(' '))
  return { pid: child.pid ?? 0, found, output: child.stdout, stop }
}

async function untilPrinted(child: ChildProcess, pattern: RegExp, name: string): Promise<string[]> {
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => reject(new Error(`${name} was not ready in time: ${text}`)), READY_WITHIN_MS)
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: ${text}`)))
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    const match = pattern.exec(text)
    if (match) resolve(match.slice(1))
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}

/** The most memory a process has held so far; undefined where there is no /proc. */
export async function peakBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
  return kib === undefined ? undefined : Number(kib) * 1024
}
