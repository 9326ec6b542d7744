import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from '../bench/support/stage.ts'
import { shellEnv } from '../packages/server/test/support/shell-env.ts'

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
      env: { ...shellEnv(), ...program.env },
      stdio: ['ignore', 'pipe', 'pipe'],
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

  const signal = (name: NodeJS.Signals) => void child?.kill(name)

  start()
  const stop = async () => {
    wanted = false
    signal('SIGCONT')
    signal('SIGKILL')
    await exited
  }
  stage.after(stop)
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

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
