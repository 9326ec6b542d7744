// A worker that hashes runs of bytes and gives the buffers back.
import { createSHA256 } from 'hash-wasm'
import type { Hashed } from '../platform.ts'
import type { LaneMessage } from '../upload/worker-lane.ts'

type WorkerScope = {
  postMessage(message: Hashed | 'ready', transfer?: ArrayBuffer[]): void
  addEventListener(type: 'message', take: (event: { data: LaneMessage }) => void): void
}

const scope = globalThis as unknown as WorkerScope
const hash = await createSHA256()
hash.init()

scope.addEventListener('message', ({ data: { bytes, ends } }) => {
  hash.update(bytes)
  if (!ends) return scope.postMessage({ bytes }, [bytes.buffer])
  scope.postMessage({ bytes, digest: hash.digest('hex') }, [bytes.buffer])
  hash.init()
})
scope.postMessage('ready')
