import type { FastifyReply } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ApiError } from '../errors.ts'

const WINDOW_S = 60

export type RateLimit = {
  /** Spends one request of the bucket, tells what is left in the headers, and refuses when nothing is. */
  spend(bucket: string, reply: FastifyReply): Promise<void>
  /** Tells what is left without spending. */
  show(bucket: string, reply: FastifyReply): Promise<void>
  /** The same as header lines, where there is no reply yet. */
  headers(bucket: string): Promise<Record<string, string>>
}

/** Buckets are keys, and client addresses for requests without a valid key. */
export function openRateLimit(perMinute: number): RateLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_S })

  const toHeaders = (state: RateLimiterRes | null): Record<string, string> => ({
    'RateLimit-Limit': String(perMinute),
    'RateLimit-Remaining': String(state ? Math.max(0, state.remainingPoints) : perMinute),
    'RateLimit-Reset': String(state ? Math.ceil(Math.max(0, state.msBeforeNext) / 1000) : WINDOW_S),
  })

  return {
    async spend(bucket, reply) {
      try {
        reply.headers(toHeaders(await limiter.consume(bucket)))
      } catch (state) {
        if (!(state instanceof RateLimiterRes)) throw state
        reply.headers(toHeaders(state))
        const retryAfterS = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
        throw new ApiError(
          'rate_limit_exceeded',
          `more than ${perMinute} requests in a minute; wait ${retryAfterS} s`,
          {
            retryAfterS,
          },
        )
      }
    },
    async show(bucket, reply) {
      reply.headers(toHeaders(await limiter.get(bucket)))
    },
    headers: async (bucket) => toHeaders(await limiter.get(bucket)),
  }
}

const SIGN_IN_ATTEMPTS = 10
const SIGN_IN_WINDOW_S = 600

/** Attempts for one account, from wherever they come. */
export function openSignInLimit(): (email: string) => Promise<void> {
  const limiter = new RateLimiterMemory({ points: SIGN_IN_ATTEMPTS, duration: SIGN_IN_WINDOW_S })
  return async (email) => {
    try {
      await limiter.consume(email.toLowerCase())
    } catch (state) {
      if (!(state instanceof RateLimiterRes)) throw state
      const retryAfterS = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
      throw new ApiError('rate_limit_exceeded', `too many attempts for this account; wait ${retryAfterS} s`, {
        retryAfterS,
      })
    }
  }
}

export const keyBucket = (keyId: string): string => `key ${keyId}`
export const memberBucket = (userId: string): string => `member ${userId}`
export const addressBucket = (address: string): string => `address ${address}`
