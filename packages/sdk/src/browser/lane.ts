import { createSHA256 } from 'hash-wasm'
import type { Hashed, Lane } from '../platform.ts'
import { type LaneMessage, overWorker } from '../upload/worker-lane.ts'

// Web Crypto hashes only what is in memory as a whole, so the bytes go through WebAssembly, in workers.

type BrowserWorker = {
  postMessage(message: LaneMessage, transfer: ArrayBuffer[]): void
  addEventListener(type: 'message', take: (event: { data: Hashed | 'ready' }) => void): void
  addEventListener(type: 'error', take: (event: { message?: string }) => void): void
  terminate(): void
}

declare const Worker: (new (url: URL, options: { type: 'module' }) => BrowserWorker) | undefined

export async function openLane(inThread: boolean): Promise<Lane> {
  const worker = inThread ? await startWorker() : undefined
  if (!worker) return onThisThread()
  return overWorker({
    post: (message) => worker.postMessage(message, [message.bytes.buffer]),
    onAnswer: (take) => worker.addEventListener('message', ({ data }) => data !== 'ready' && take(data)),
    onError: (take) =>
      worker.addEventListener('error', ({ message }) =>
        take(new Error(message ?? 'the hashing worker failed')),
      ),
    end: () => worker.terminate(),
  })
}

/** Undefined where workers are not to be had: the page may forbid them, or a bundler may have lost the file. */
async function startWorker(): Promise<BrowserWorker | undefined> {
  if (typeof Worker === 'undefined') return undefined
  try {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { type: 'module' })
    return await new Promise((resolve) => {
      worker.addEventListener('message', () => resolve(worker))
      worker.addEventListener('error', () => resolve(undefined))
    })
  } catch {
    return undefined
  }
}

async function onThisThread(): Promise<Lane> {
  const hash = await createSHA256()
  hash.init()
  return {
    async add(bytes, ends) {
      hash.update(bytes)
      // The page stays alive between two buffers.
      await new Promise((resolve) => setTimeout(resolve, 0))
      if (!ends) return { bytes }
      const digest = hash.digest('hex')
      hash.init()
      return { bytes, digest }
    },
    close() {},
  }
}
