import { flushCompileCache } from 'node:module'
import { analyse } from '@tapedeck/analysis'
import { openDisk } from '../storage/disk.ts'
import { openRecording } from '../storage/recording.ts'
import type { ScanReply, ScanRequest } from './scan-messages.ts'

// One recording in a process of its own: whatever a hostile file does to a library, it does it here.

const PROGRESS_EVERY_MS = 200

// Now: at the end this process is killed.
flushCompileCache()
process.once('message', (request: ScanRequest) => void run(request))
// Nobody is left to tell the result.
process.on('disconnect', () => process.exit(1))

async function run({ root, parts, ...request }: ScanRequest): Promise<void> {
  try {
    const source = openRecording(await openDisk(root), parts)
    const signal = new AbortController().signal
    const onProgress = throttled((fraction) => reply({ type: 'progress', fraction }))
    const analysis = await analyse(source, { ...request, signal, onProgress })
    reply({ type: 'done', analysis })
  } catch (error) {
    reply({ type: 'fault', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

function throttled(tell: (fraction: number) => void): (fraction: number) => void {
  let lastMs = 0
  return (fraction) => {
    if (performance.now() - lastMs < PROGRESS_EVERY_MS) return
    lastMs = performance.now()
    tell(fraction)
  }
}

function reply(message: ScanReply): void {
  process.send?.(message)
}
