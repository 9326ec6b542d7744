import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

// Programs of a store that run beside each other, each with a log of its own, and end together.

export type Daemons = {
  start(name: string, command: string, args: string[], env?: NodeJS.ProcessEnv): void
  /** Looks until something is true; a daemon that has ended by then is told with its log. */
  until(awaited: string, look: () => Promise<boolean>): Promise<void>
  stop(): Promise<void>
}

const READY_WITHIN_MS = 180_000
const LOOK_EVERY_MS = 100
const STOP_WITHIN_MS = 20_000

export function openDaemons(logDir: string): Daemons {
  const running: { name: string; child: ChildProcess }[] = []
  // However we end, they end.
  process.on('exit', () => {
    for (const { child } of running) child.kill('SIGKILL')
  })
  return {
    start(name, command, args, env = {}) {
      const log = openSync(`${logDir}/${name}.out`, 'a')
      const child = spawn(command, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } })
      running.push({ name, child })
    },
    async until(awaited, look) {
      const deadlineMs = performance.now() + READY_WITHIN_MS
      while (!(await look())) {
        const ended = running.find(({ child }) => child.exitCode !== null || child.signalCode !== null)
        if (ended) throw new Error(`${ended.name} has ended; its log is in ${logDir}`)
        if (performance.now() > deadlineMs)
          throw new Error(`waited in vain until ${awaited}; the logs are in ${logDir}`)
        await delay(LOOK_EVERY_MS)
      }
    },
    async stop() {
      for (const { child } of running.reverse()) await end(child)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const impatience = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
  await exited
  clearTimeout(impatience)
}

/** Whether an address answers at all. */
export async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(5_000) })
    return true
  } catch {
    return false
  }
}
