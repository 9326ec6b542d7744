import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Analysis } from '../../src/analysis.ts'
import type { Ask } from './scan-worker.ts'

// Hostile files are scanned in processes, as the service does it, but each takes many: starting one takes longer than
// most scans. A scan that kills its process, or goes beyond a cap, is an error that names the file.

const MEMORY_BYTES = 2 ** 30
const HEAP_MB = Math.round((MEMORY_BYTES * 0.6) / 2 ** 20)
const WATCH_EVERY_MS = 50
/** Far more than any of them takes on a busy machine: only what never ends is late. */
const HANG_MS = 300_000

export type ScanPool = {
  scan(file: { filename: string; bytes: Uint8Array }, timeMs?: number): Promise<Scanned>
  close(): void
}

export type Scanned = { analysis: Analysis; peakBytes: number; ms: number }

export function openScanPool(size = Math.min(4, availableParallelism())): ScanPool {
  const idle: ChildProcess[] = Array.from({ length: size }, startChild)
  const waiting: ((child: ChildProcess) => void)[] = []
  const take = async (): Promise<ChildProcess> => idle.pop() ?? new Promise((free) => waiting.push(free))
  const give = (child: ChildProcess) => {
    const next = waiting.shift()
    if (next) next(child)
    else idle.push(child)
  }
  return {
    async scan({ filename, bytes }, timeMs = HANG_MS) {
      const child = await take()
      try {
        const scanned = await scanIn(child, { id: 0, filename, bytes }, timeMs)
        give(child)
        return scanned
      } catch (error) {
        child.kill('SIGKILL')
        give(startChild())
        throw error
      }
    },
    close() {
      for (const child of idle) child.kill('SIGKILL')
    },
  }
}

function startChild(): ChildProcess {
  return fork(new URL('./scan-worker.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`, '--expose-gc', '--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
}

type Answer = { analysis?: Analysis; fault?: string }

function scanIn(child: ChildProcess, ask: Ask, timeMs: number): Promise<Scanned> {
  const startMs = performance.now()
  let peakBytes = 0
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      end()
      reject(new Error(`${ask.filename}: ${why}`))
    }
    const late = setTimeout(() => fail(`took longer than ${timeMs} ms`), timeMs)
    const watch = setInterval(() => {
      peakBytes = Math.max(peakBytes, residentBytes(child))
      if (peakBytes > MEMORY_BYTES) fail(`took ${peakBytes} bytes of memory`)
    }, WATCH_EVERY_MS)
    const answered = ({ analysis, fault }: Answer) => {
      if (!analysis) return fail(fault ?? 'no answer')
      end()
      resolve({ analysis, peakBytes, ms: performance.now() - startMs })
    }
    const exited = (code: number | null, signal: string | null) =>
      fail(`the process ended with ${signal ?? code}`)
    const end = () => {
      clearTimeout(late)
      clearInterval(watch)
      child.off('message', answered)
      child.off('exit', exited)
    }
    child.on('message', answered)
    child.on('exit', exited)
    child.send(ask)
  })
}

function residentBytes({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096
  } catch {
    return 0
  }
}
