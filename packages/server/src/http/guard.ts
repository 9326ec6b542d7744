import type { onRequestAsyncHookHandler } from 'fastify'
import type { Caller, Callers } from '../access/caller.ts'
import { ApiError } from '../errors.ts'
import { addressBucket, keyBucket, type RateLimit } from './rate-limit.ts'

type Deps = { callers: Callers; rateLimit: RateLimit }

/** Who asks, how often, and whether they may: before a byte of the body is read. */
export function guard({ callers, rateLimit }: Deps, permission: 'read' | 'write'): onRequestAsyncHookHandler {
  return async (request, reply) => {
    let caller: Caller
    try {
      caller = await callers.authenticate(request.headers.authorization)
    } catch (error) {
      // Guessing keys spends the budget of the address.
      await rateLimit.spend(addressBucket(request.ip), reply)
      throw error
    }
    await rateLimit.spend(keyBucket(caller.keyId), reply)
    if (permission === 'write' && !caller.mayWrite) {
      throw new ApiError('write_required', 'this key may only read; use one with read,write')
    }
    request.caller = caller
  }
}
