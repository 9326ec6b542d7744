import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { Caller, Callers } from '../access/caller.ts'
import { ApiError } from '../errors.ts'
import { admitMember, type ConsoleAccess, namesOrganisation } from './console-guard.ts'
import { addressBucket, keyBucket, memberBucket, type RateLimit } from './rate-limit.ts'

type Recognition = { callers: Callers; consoleAccess: ConsoleAccess }
type Deps = Recognition & { rateLimit: RateLimit }

/** Who asks, how often, and whether they may: before a byte of the body is read. */
export function guard(deps: Deps, permission: 'read' | 'write'): onRequestAsyncHookHandler {
  const { rateLimit } = deps
  return async (request, reply) => {
    let caller: Caller
    try {
      caller = await findCaller(deps, request)
    } catch (error) {
      // Guessing keys spends the budget of the address.
      await rateLimit.spend(addressBucket(request.ip), reply)
      throw error
    }
    await rateLimit.spend(caller.kind === 'member' ? memberBucket(caller.id) : keyBucket(caller.id), reply)
    if (permission === 'write' && !caller.mayWrite) throw mayOnlyRead(caller)
    request.caller = caller
  }
}

/** A key, or a member at a page of the console. A request that names neither is told to send a key. */
export function findCaller(
  { callers, consoleAccess }: Recognition,
  request: FastifyRequest,
): Promise<Caller> {
  const { authorization } = request.headers
  if (authorization === undefined && namesOrganisation(request)) return admitMember(consoleAccess, request)
  return callers.authenticate(authorization)
}

function mayOnlyRead({ kind }: Caller): ApiError {
  const whose =
    kind === 'member'
      ? 'viewers may only read; ask an owner for another role'
      : 'this key may only read; use one with read,write'
  return new ApiError('write_required', whose)
}
