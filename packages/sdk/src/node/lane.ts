import { createHash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { Lane } from '../platform.ts'
import { type LaneWorker, overWorker } from '../upload/worker-lane.ts'

export async function openLane(inThread: boolean): Promise<Lane> {
  if (!inThread) return onThisThread()
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url))
  const face: LaneWorker = {
    post: (message) => worker.postMessage(message, [message.bytes.buffer]),
    onAnswer: (take) => void worker.on('message', take),
    onError: (take) => void worker.on('error', take),
    end: () => void worker.terminate(),
  }
  return overWorker(face)
}

function onThisThread(): Lane {
  let hash = createHash('sha256')
  return {
    async add(bytes, ends) {
      hash.update(bytes)
      if (!ends) return { bytes }
      const digest = hash.digest('hex')
      hash = createHash('sha256')
      return { bytes, digest }
    },
    close() {},
  }
}
