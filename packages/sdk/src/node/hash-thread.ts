// A thread that hashes runs of bytes and gives the buffers back.
import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import type { LaneMessage } from '../upload/worker-lane.ts'

let hash = createHash('sha256')

parentPort?.on('message', ({ bytes, ends }: LaneMessage) => {
  hash.update(bytes)
  if (!ends) return parentPort?.postMessage({ bytes }, [bytes.buffer])
  parentPort?.postMessage({ bytes, digest: hash.digest('hex') }, [bytes.buffer])
  hash = createHash('sha256')
})
