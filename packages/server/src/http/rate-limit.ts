import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { ApiError } from '../errors.ts'
import type { Counting, Spent } from './counting.ts'

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
export function openRateLimit(counting: Counting, perMinute: number): RateLimit {
  const counter = counting.open({ name: 'requests', points: perMinute, windowS: WINDOW_S })
  return {
    async spend(bucket, reply) {
      const spent = await counter.spend(bucket)
      reply.headers(toHeaders(spent))
      if (!spent.allowed) throw refusal(spent, `more than ${spent.limit} requests in a minute`)
    },
    async show(bucket, reply) {
      reply.headers(toHeaders(await counter.look(bucket)))
    },
    headers: async (bucket) => toHeaders(await counter.look(bucket)),
  }
}

function toHeaders({ limit, left, resetMs }: Spent): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(left),
    'RateLimit-Reset': String(Math.ceil(resetMs / 1000)),
  }
}

const SIGN_IN_ATTEMPTS = 10
const SIGN_IN_WINDOW_S = 600

/** Attempts for one account, from wherever they come. */
export function openSignInLimit(counting: Counting): (email: string) => Promise<void> {
  const counter = counting.open({ name: 'sign-ins', points: SIGN_IN_ATTEMPTS, windowS: SIGN_IN_WINDOW_S })
  return async (email) => {
    // What is counted may be kept elsewhere, where addresses of people have no place.
    const spent = await counter.spend(hash('sha256', email.toLowerCase()))
    if (!spent.allowed) throw refusal(spent, 'too many attempts for this account')
  }
}

function refusal({ resetMs }: Spent, what: string): ApiError {
  const retryAfterS = Math.max(1, Math.ceil(resetMs / 1000))
  return new ApiError('rate_limit_exceeded', `${what}; wait ${retryAfterS} s`, { retryAfterS })
}

export const keyBucket = (keyId: string): string => `key ${keyId}`
export const memberBucket = (userId: string): string => `member ${userId}`
export const addressBucket = (address: string): string => `address ${address}`
