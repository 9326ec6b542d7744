import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemCode } from '../../src/errors.ts'

export const needsProc = process.platform === 'linux' ? false : 'looks into /proc'

type Process = { pid: number; state: string; parent: number; group: number }

/** The keeper of a postmaster: in its process group, but not a child of it. */
export function keeperOf(postmaster: number): number {
  const keeper = allProcesses().find(
    ({ pid, parent, group }) => group === postmaster && pid !== postmaster && parent !== postmaster,
  )
  if (!keeper) throw new Error(`postmaster ${postmaster} has no keeper`)
  return keeper.pid
}

export function childrenOf(parent: number): number[] {
  return allProcesses().flatMap((found) => (found.parent === parent ? [found.pid] : []))
}

export function kill(...pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error // ended by itself, as a session without its postmaster does
    }
  }
}

/** Zombies count as gone: who reaps them is not ours to say. */
export async function untilGone(pid: number): Promise<void> {
  await until(`process ${pid} is gone`, () => [undefined, 'Z', 'X'].includes(read(pid)?.state))
}

export async function untilZombie(pid: number): Promise<void> {
  await until(`process ${pid} is a zombie`, () => read(pid)?.state === 'Z')
}

async function until(claim: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`after 10 s it is still not so that ${claim}`)
    await sleep(10)
  }
}

function allProcesses(): Process[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => read(pid) ?? [])
}

function read(pid: number): Process | undefined {
  try {
    // The program's name stands in parentheses and may hold anything.
    const [state = '', parent, group] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return { pid, state, parent: Number(parent), group: Number(group) }
  } catch {
    return undefined
  }
}
