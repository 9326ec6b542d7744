import { Worker } from 'node:worker_threads'
import type { StorageSettings } from './open.ts'

/** For what it has just made, which are small things: the bytes of parts lie elsewhere. By itself it would take six times as much. */
const YOUNG_MB = 8

/** A thread that works on the storage. */
export function openThread(script: URL, storage: StorageSettings): Worker {
  return new Worker(script, {
    workerData: { storage },
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
}
