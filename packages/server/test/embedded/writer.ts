import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { undoAfter } from './undo.ts'

/** `acknowledged` grows until the process has ended. */
export type Writer = { pid: number; postmaster: number; acknowledged: number[]; ended: Promise<unknown> }

/** Runs insert-loop.ts; resolves when so many rows are acknowledged, while it goes on. */
export async function spawnWriter(t: TestContext, dataDir: string, rows: number): Promise<Writer> {
  const script = fileURLToPath(new URL('insert-loop.ts', import.meta.url))
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  undoAfter(t, () => child.kill('SIGKILL'))
  const writer: Writer = { pid: child.pid ?? 0, postmaster: 0, acknowledged: [], ended: once(child, 'close') }
  const { promise: enough, resolve, reject } = Promise.withResolvers<void>()
  createInterface(child.stdout).on('line', (line) => {
    if (writer.postmaster === 0) writer.postmaster = Number(line)
    else if (writer.acknowledged.push(Number(line)) === rows) resolve()
  })
  writer.ended.then(() => reject(new Error('the writer ended too early')), reject)
  await enough
  return writer
}
