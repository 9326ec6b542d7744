import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from '../bench/support/stage.ts'

// A process that is started again whenever it ends, as a supervisor does it, and that can be killed, frozen and woken.

export type Supervised = {
  name: string
  /** Undefined while it is down. */
  pid(): number | undefined
  /** Resolves when it says that it is ready; what was found in its output. */
  ready(): Promise<string[]>
  /** SIGKILL; it is started again after a while. */
  kill(downMs: number): Promise<void>
  freeze(): void
  wake(): void
  /** How often it ended by itself after it had been ready. */
  crashes(): number
  stop(): Promise<void>
}

type Program = {
  name: string
  args: string[]
  env: NodeJS.ProcessEnv
  /** In its output, once it is ready. */
  readyWhen: RegExp
  /** Every line of its log. */
  onLine: (line: string) => void
  /** Whether what it has started is killed with it; of a service that must not be needed. */
  asGroup: boolean
}

const RESTART_MS = 500

export function supervise(stage: Stage, program: Program): Supervised {
  let child: ChildProcess | undefined
  let found = Promise.withResolvers<string[]>()
  let isReady = false
  let wanted = true
  let killed = false
  let downMs = 0
  let crashes = 0
  let exited: Promise<unknown> = Promise.resolve()

  function start(): void {
    const started = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...program.args], {
      env: { ...inherited(), ...program.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: program.asGroup,
    })
    child = started
    let output = ''
    started.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      if (isReady) return
      output += chunk
      const match = program.readyWhen.exec(output)
      if (!match) return
      isReady = true
      found.resolve(match.slice(1))
    })
    readLines(started.stderr, program.onLine)
    exited = once(started, 'close').then(restart)
  }

  async function restart(): Promise<void> {
    if (isReady) {
      if (!killed && wanted) crashes++
      found = Promise.withResolvers()
    }
    child = undefined
    isReady = false
    await delay(killed ? downMs : RESTART_MS)
    killed = false
    if (wanted) start()
  }

  function signal(name: NodeJS.Signals): void {
    try {
      if (child?.pid) process.kill(program.asGroup ? -child.pid : child.pid, name)
    } catch {
      // It has ended in this moment.
    }
  }

  start()
  const stop = async () => {
    wanted = false
    signal('SIGCONT')
    signal('SIGKILL')
    await exited
  }
  stage.onEnd(stop)
  return {
    name: program.name,
    pid: () => child?.pid,
    ready: () => found.promise,
    async kill(stayDownMs) {
      killed = true
      downMs = stayDownMs
      signal('SIGKILL')
      await exited
    },
    freeze: () => signal('SIGSTOP'),
    wake: () => signal('SIGCONT'),
    crashes: () => crashes,
    stop,
  }
}

/** What a shell needs, and what `npm start` gives: modules that were compiled once are not compiled again. */
function inherited(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  return { PATH, HOME, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) }
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
