import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { setPriority, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Analysis } from '@tapedeck/analysis'
import { newNonce } from '../ids.ts'
import type { Recording } from '../storage/recording.ts'
import { ObjectLost } from '../storage/storage.ts'
import { BLOCK_BYTES, MAX_ASKED } from './asked-source.ts'
import type { ScanReply, ScanRequest, ToScan } from './scan-messages.ts'

// Runs a scan in a process with a cap on its memory and its time. A scan that goes beyond them says something about the
// recording, and is a `ScanLimit`. One that dies otherwise is a fault of ours, told by any other error: the job is tried
// again, and given up after the last try.

export class ScanLimit extends Error {
  override name = 'ScanLimit'
}

export type ScanLimits = { memoryBytes: number; timeMs: number }

type Options = {
  limits: ScanLimits
  signal: AbortSignal
  onProgress: (fraction: number) => void
  /** What the scan may ask for. */
  recording: Recording
}

const WATCH_EVERY_MS = 50
/** A ninth of the share of others, and no less: a recording still has to come to its end on a machine that is always busy. */
export const LOWER_PRIORITY = 10
/** The rest of the cap is for buffers, which V8 does not count as its own. */
const HEAP_SHARE = 0.6

export async function scan(request: Omit<ScanRequest, 'type'>, options: Options): Promise<Analysis> {
  // The scan makes it, and removes it should we die: a folder that we made before it is there would stay.
  const tempDir = join(tmpdir(), `tapedeck-scan-${newNonce()}`)
  const heapMb = Math.round((options.limits.memoryBytes * HEAP_SHARE) / 2 ** 20)
  const child = fork(new URL('./scan-child.ts', import.meta.url), [tempDir], {
    execArgv: [`--max-old-space-size=${heapMb}`, '--expose-gc', '--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: childEnv(),
  })
  yieldToOthers(child)
  try {
    return await outcome(child, { ...request, type: 'scan' }, options)
  } finally {
    child.kill('SIGKILL')
    await rm(tempDir, { recursive: true, force: true })
  }
}

/** Whoever asks or uploads on the same machine waits for an answer; nobody waits for a scan in the same way. */
function yieldToOthers({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, LOWER_PRIORITY)
  } catch {
    // It has ended already, or the system does not let us.
  }
}

/** Nothing of ours: no secrets, no proxies, no options. But what was compiled once is not compiled again. */
function childEnv(): NodeJS.ProcessEnv {
  const compiled = getCompileCacheDir()
  return compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) }
}

function outcome(
  child: ChildProcess,
  request: ScanRequest,
  { limits, signal, onProgress, recording }: Options,
): Promise<Analysis> {
  return new Promise((resolve, reject) => {
    const lastWords = listen(child)
    const late = setTimeout(
      () => reject(new ScanLimit(`reading took longer than ${limits.timeMs / 1000} s`)),
      limits.timeMs,
    )
    const tooLarge = `reading took more than ${limits.memoryBytes / 2 ** 20} MiB of memory`
    const watch = setInterval(() => {
      if (residentBytes(child.pid) > limits.memoryBytes) reject(new ScanLimit(tooLarge))
    }, WATCH_EVERY_MS)
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    const end = () => {
      clearTimeout(late)
      clearInterval(watch)
      signal.removeEventListener('abort', abort)
    }
    const answer = openAnswers(child, recording, reject)
    child.on('message', (reply: ScanReply) => {
      if (reply.type === 'progress') return onProgress(reply.fraction)
      if (reply.type === 'read') return void answer(reply)
      end()
      if (reply.type === 'done') resolve(reply.analysis)
      else reject(reply.type === 'lost' ? new ObjectLost(reply.message) : new Error(reply.message))
    })
    child.on('error', (cause) => reject(new Error(`the scan does not start: ${cause.message}`, { cause })))
    // When all that it wrote has arrived.
    child.on('close', (code, killed) => {
      end()
      const words = lastWords()
      if (HEAP_IS_FULL.test(words)) reject(new ScanLimit(tooLarge))
      else reject(new Error(`the scan ended with ${killed ?? code} and no result: ${words}`))
    })
    say(child, request)
  })
}

/** A scan that ends just now does not hear it; how it ended is told by its end. */
function say(child: ChildProcess, message: ToScan): void {
  if (child.connected) child.send(message, () => {})
}

type Question = Extract<ScanReply, { type: 'read' }>

/** Reads for the scan, never more at once than it has agreed to: it may be in the hands of a hostile file. */
function openAnswers(child: ChildProcess, recording: Recording, fail: (error: unknown) => void) {
  let open = 0
  return async ({ question, offset, length }: Question): Promise<void> => {
    if (open >= MAX_ASKED || length > BLOCK_BYTES)
      return fail(new Error('the scan asks for too much at once'))
    open++
    try {
      const bytes = await recording.read(offset, length)
      say(child, { type: 'bytes', question, bytes })
    } catch (error) {
      // Not told to the scan: a reader might take it for damage of the file.
      fail(error)
    } finally {
      open--
    }
  }
}

const HEAP_IS_FULL = /JavaScript heap out of memory/
const LAST_WORDS_CHARACTERS = 4096

/** What the process wrote to stderr last: V8 says there why it gives up. */
function listen(child: ChildProcess): () => string {
  let words = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-LAST_WORDS_CHARACTERS)
  })
  return () => words
}

/** Linux tells, without a disk that could keep us waiting; elsewhere the heap's own limit has to do. */
function residentBytes(pid: number | undefined): number {
  try {
    const statm = readFileSync(`/proc/${pid}/statm`, 'utf8')
    return Number(statm.split(' ')[1]) * 4096
  } catch {
    return 0
  }
}
