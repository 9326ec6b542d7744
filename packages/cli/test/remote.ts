import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { shellEnv } from '../../server/test/support/shell-env.ts'
import type { Result } from './tapedeck.ts'

// The command as it runs on a robot: far from the service, with nothing but an address and a key.

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

export type Robot = { home: string; url: string; key: string }

export type Started = {
  kill(signal: NodeJS.Signals): void
  /** Everything it printed so far. */
  stdout(): string
  ended: Promise<Result>
}

/** Starts the command itself, without the script that finds the pinned Node. */
export function start(
  { home, url, key }: Robot,
  args: string[],
  env: Record<string, string> = {},
  input = '',
): Started {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
    env: {
      ...shellEnv(),
      HOME: home,
      TAPEDECK_URL: url,
      TAPEDECK_API_KEY: key,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code ?? (signal === 'SIGKILL' ? 137 : 1),
    ...output,
  }))
  return { kill: (signal) => void child.kill(signal), stdout: () => output.stdout, ended }
}

export function run(
  robot: Robot,
  args: string[],
  env: Record<string, string> = {},
  input = '',
): Promise<Result> {
  return start(robot, args, env, input).ended
}

export async function runJson(robot: Robot, ...args: string[]) {
  const { code, stdout, stderr } = await run(robot, [...args, '--json'])
  if (code !== 0) throw new Error(`tapedeck ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
