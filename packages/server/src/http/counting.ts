import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

// Counts what buckets spend of a limit in a window of time: here in the memory of this node, `shared-counting` for all
// nodes together. A node on its own counts its share: the limit divided by the nodes that serve the API now.

export type Spent = { allowed: boolean; limit: number; left: number; resetMs: number }

export type Counter = {
  spend(bucket: string): Promise<Spent>
  /** What is left, without spending. */
  look(bucket: string): Promise<Spent>
}

export type Limit = { name: string; points: number; windowS: number }
export type Counting = { open(limit: Limit): Counter }

export function openShareCounting(apiNodes: () => number): Counting {
  return {
    open({ name, points, windowS }) {
      const limiter = new RateLimiterMemory({ keyPrefix: name, points, duration: windowS })
      const adapt = () => {
        limiter.points = Math.max(1, Math.floor(points / apiNodes()))
      }
      return {
        async spend(bucket) {
          adapt()
          return spend(limiter, bucket)
        },
        async look(bucket) {
          adapt()
          return look(limiter, bucket, windowS)
        },
      }
    },
  }
}

type Limiter = Pick<RateLimiterMemory, 'points' | 'consume' | 'get'>

export async function spend(limiter: Limiter, bucket: string): Promise<Spent> {
  try {
    return toSpent(limiter.points, true, await limiter.consume(bucket))
  } catch (state) {
    if (!(state instanceof RateLimiterRes)) throw state
    return toSpent(limiter.points, false, state)
  }
}

export async function look(limiter: Limiter, bucket: string, windowS: number): Promise<Spent> {
  const state = await limiter.get(bucket)
  if (state) return toSpent(limiter.points, state.remainingPoints > 0, state)
  return { allowed: true, limit: limiter.points, left: limiter.points, resetMs: windowS * 1000 }
}

function toSpent(limit: number, allowed: boolean, state: RateLimiterRes): Spent {
  const left = Math.max(0, state.remainingPoints)
  return { allowed, limit, left, resetMs: Math.max(0, state.msBeforeNext) }
}
