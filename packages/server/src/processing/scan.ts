import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Analysis } from '@tapedeck/analysis'
import type { ScanReply, ScanRequest } from './scan-messages.ts'

// Runs a scan in a process with a cap on its memory and its time. A scan that dies or is killed is a fault of ours,
// told by an error: the job is tried again, and given up after the last try.

export type ScanLimits = { memoryBytes: number; timeMs: number }

export const defaultScanLimits: ScanLimits = { memoryBytes: 2 ** 30, timeMs: 30 * 60_000 }

type Options = { limits: ScanLimits; signal: AbortSignal; onProgress: (fraction: number) => void }

const WATCH_EVERY_MS = 200
/** The rest of the cap is for buffers, which V8 does not count as its own. */
const HEAP_SHARE = 0.6

export async function scan(request: Omit<ScanRequest, 'tempDir'>, options: Options): Promise<Analysis> {
  const tempDir = await mkdtemp(join(tmpdir(), 'tapedeck-scan-'))
  const heapMb = Math.round((options.limits.memoryBytes * HEAP_SHARE) / 2 ** 20)
  const child = fork(new URL('./scan-child.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${heapMb}`, '--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Nothing of ours: no secrets, no proxies, no options.
    env: {},
  })
  try {
    return await outcome(child, { ...request, tempDir }, options)
  } finally {
    child.kill('SIGKILL')
    await rm(tempDir, { recursive: true, force: true })
  }
}

function outcome(
  child: ChildProcess,
  request: ScanRequest,
  { limits, signal, onProgress }: Options,
): Promise<Analysis> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error(`the scan took longer than ${limits.timeMs} ms`)),
      limits.timeMs,
    )
    const watch = setInterval(async () => {
      const bytes = await residentBytes(child.pid)
      if (bytes > limits.memoryBytes)
        reject(new Error(`the scan took ${bytes} bytes of memory, more than ${limits.memoryBytes}`))
    }, WATCH_EVERY_MS)
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    const end = () => {
      clearTimeout(late)
      clearInterval(watch)
      signal.removeEventListener('abort', abort)
    }
    child.on('message', (reply: ScanReply) => {
      if (reply.type === 'progress') return onProgress(reply.fraction)
      end()
      if (reply.type === 'done') resolve(reply.analysis)
      else reject(new Error(reply.message))
    })
    child.on('error', reject)
    child.on('exit', (code, killed) => {
      end()
      reject(new Error(`the scan ended with ${killed ?? code} and no result`))
    })
    child.send(request)
  })
}

/** Linux tells; elsewhere the heap's own limit has to do. */
async function residentBytes(pid: number | undefined): Promise<number> {
  try {
    const statm = await readFile(`/proc/${pid}/statm`, 'utf8')
    return Number(statm.split(' ')[1]) * 4096
  } catch {
    return 0
  }
}
