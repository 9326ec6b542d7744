import { monitorEventLoopDelay } from 'node:perf_hooks'
import { ApiError } from '../errors.ts'

// Refuses work that could not be done in time, instead of doing all of it too late.

export type Load = {
  /** Counts a request in, or refuses it. The answer counts it out. */
  enter(kind: 'request' | 'upload'): () => void
  /** From now on everything new is refused. */
  drain(): void
  inFlight(kind: 'request' | 'upload'): number
  close(): void
}

export type LoadLimits = { requests: number; uploads: number; loopDelayMs: number }

export const defaultLoadLimits: LoadLimits = { requests: 1_000, uploads: 256, loopDelayMs: 1_000 }
const SAMPLE_MS = 500

export function openLoad(limits: LoadLimits): Load {
  const count = { request: 0, upload: 0 }
  const histogram = monitorEventLoopDelay({ resolution: 20 })
  histogram.enable()
  let late = false
  let draining = false
  const timer = setInterval(() => {
    late = histogram.percentile(90) / 1e6 > limits.loopDelayMs
    histogram.reset()
  }, SAMPLE_MS).unref()

  return {
    enter(kind) {
      if (draining) throw overloaded('the service is stopping')
      if (late) throw overloaded('the service is too busy to answer in time')
      if (count[kind] >= (kind === 'request' ? limits.requests : limits.uploads)) {
        throw overloaded(`more than ${count[kind]} ${kind}s at once`)
      }
      count[kind]++
      let inside = true
      return () => {
        if (inside) count[kind]--
        inside = false
      }
    },
    drain() {
      draining = true
    },
    inFlight: (kind) => count[kind],
    close() {
      clearInterval(timer)
      histogram.disable()
    },
  }
}

function overloaded(reason: string): ApiError {
  return new ApiError('overloaded', `${reason}; try again`, { retryAfterS: 2 })
}
