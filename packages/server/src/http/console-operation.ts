import type { ListAuditLog, Role } from '@tapedeck/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { Account, Client } from '../console/accounts.ts'
import type { Member } from '../console/member.ts'
import { ApiError } from '../errors.ts'
import { admitAccount, admitMember, type ConsoleAccess, clientOf, refuseOtherPages } from './console-guard.ts'
import { Nothing } from './operation.ts'
import { bodyParser, queryParser } from './parse.ts'
import { parseQuery } from './query.ts'
import { addressBucket, memberBucket, type RateLimit } from './rate-limit.ts'
import { JSON_TYPE } from './respond.ts'

// One row of what the console asks for: who may, what is taken, what is done. Refusals look as everywhere.

export type Keep = (cookies: string[]) => void

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

type Call<Body extends TObject> = {
  client: Client
  /** `:id` of the path; empty where it has none. */
  id: string
  body: Static<Body>
  query: ListAuditLog
  /** Hands cookies to the browser. */
  keep: Keep
}

type Admitted = { account: Account | undefined; member: Member | undefined }

export type ConsoleOperation = {
  method: Method
  path: string
  body: TObject
  query: TObject
  /** The least role that may. */
  role?: Role
  admit(access: ConsoleAccess, request: FastifyRequest): Promise<Admitted>
  run(call: Call<TObject>, admitted: Admitted): Promise<unknown>
}

export function forAnybody<Body extends TObject>(
  method: Method,
  path: string,
  body: Body,
  run: (call: Call<Body>) => Promise<unknown>,
): ConsoleOperation {
  return row(method, path, body, Nothing, {
    async admit(access, request) {
      refuseOtherPages(access.consoleUrl(), request)
      return { account: undefined, member: undefined }
    },
    run,
  })
}

export function forAccount<Body extends TObject>(
  method: Method,
  path: string,
  body: Body,
  run: (call: Call<Body>, account: Account) => Promise<unknown>,
): ConsoleOperation {
  return row(method, path, body, Nothing, {
    admit: async (access, request) => ({ account: await admitAccount(access, request), member: undefined }),
    run: (call, { account }) => run(call, present(account)),
  })
}

/** For members of at least this role. */
export function forMember<Body extends TObject>(
  role: Role,
  method: Method,
  path: string,
  body: Body,
  run: (call: Call<Body>, member: Member) => Promise<unknown>,
  query: TObject = Nothing,
): ConsoleOperation {
  return row(method, path, body, query, {
    role,
    admit: async (access, request) => ({ account: undefined, member: await admitMember(access, request) }),
    run: (call, { member }) => run(call, present(member)),
  })
}

/** Ties the schemas to the verb, then forgets their types so that the rows fit in one table. */
function row<Body extends TObject>(
  method: Method,
  path: string,
  body: Body,
  query: TObject,
  verb: {
    role?: Role
    admit: ConsoleOperation['admit']
    run(call: Call<Body>, admitted: Admitted): Promise<unknown>
  },
): ConsoleOperation {
  return { method, path: `/console/api${path}`, body, query, ...verb } as unknown as ConsoleOperation
}

function refuseLesser({ role }: Member, wanted: Role): void {
  if (wanted === 'owner' && role !== 'owner') {
    throw new ApiError('owner_required', `only owners may do this; your role is ${role}`)
  }
  if (wanted === 'member' && role === 'viewer') {
    throw new ApiError('write_required', 'viewers may only read; ask an owner for another role')
  }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('an operation of the console ran without its guard')
  return value
}

export function registerConsoleOperations(
  app: FastifyInstance,
  deps: ConsoleAccess & { rateLimit: RateLimit },
  operations: ConsoleOperation[],
): void {
  const admitted = new WeakMap<FastifyRequest, Admitted>()
  for (const operation of operations) {
    const readBody = bodyParser(operation.body)
    const readQuery = queryParser(operation.query)
    app.route({
      method: operation.method,
      url: operation.path,
      async onRequest(request, reply) {
        const who = await operation.admit(deps, request).catch(async (error: unknown) => {
          await deps.rateLimit.spend(addressBucket(request.ip), reply)
          throw error
        })
        const id = who.member?.id ?? who.account?.id
        await deps.rateLimit.spend(id === undefined ? addressBucket(request.ip) : memberBucket(id), reply)
        if (operation.role) refuseLesser(present(who.member), operation.role)
        request.caller = who.member
        admitted.set(request, who)
      },
      async handler(request, reply) {
        const call: Call<TObject> = {
          client: clientOf(request),
          id: idIn(request.params),
          query: readQuery(parseQuery(request.raw.url ?? '/')),
          body: readBody(request.body),
          keep: (cookies) => void (cookies.length > 0 && reply.header('Set-Cookie', cookies)),
        }
        const answer = await operation.run(call, present(admitted.get(request)))
        return reply.header('Cache-Control', 'no-store').type(JSON_TYPE).send(JSON.stringify(answer))
      },
    })
  }
}

function idIn(params: unknown): string {
  const id: unknown = typeof params === 'object' && params ? Reflect.get(params, 'id') : undefined
  return typeof id === 'string' ? id : ''
}
