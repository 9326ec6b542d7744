import type { RouteHandlerMethod } from 'fastify'
import type { Caller } from '../access/caller.ts'
import { type Commit, plainCommit } from '../db/commit.ts'
import type { Db } from '../db/database.ts'
import type { Node } from '../db/nodes.ts'
import type { Keys } from '../secrets.ts'
import { auditedCommit } from './audited.ts'
import { type Answer, once, readIdempotencyKey } from './idempotency.ts'
import type { Operation } from './operation.ts'
import { bodyParser, queryParser } from './parse.ts'
import { parseQuery } from './query.ts'
import { JSON_TYPE } from './respond.ts'
import type { Turns } from './turns.ts'

type Deps = { db: Db; node: Node; responseKeys: Keys; turns: Turns }

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard before the handler runs. */
    caller: Caller | undefined
  }
}

/** One request from its parsed head to its answer: body and query, idempotency, the verb. */
export function handle(deps: Deps, operation: Operation): RouteHandlerMethod {
  const readQuery = queryParser(operation.query)
  const readBody = bodyParser(operation.body)

  return async (request, reply) => {
    const { caller } = request
    if (!caller) throw new Error(`${operation.id} ran without its guard`)
    const url = request.raw.url ?? '/'
    const query = readQuery(parseQuery(url))
    const body = readBody(request.body)
    const id = paramIn(request.params, 'id')
    const input = {
      caller,
      id,
      delivery: paramIn(request.params, 'delivery'),
      query,
      body,
    }
    const run = (commit: Commit) =>
      operation.run({ ...input, commit: audited(operation, commit, caller, id, request.id) })
    const key =
      operation.method === 'POST' ? readIdempotencyKey(request.headers['idempotency-key']) : undefined

    const answer = await deps.turns.take(operation.permission, async (): Promise<Answer> => {
      if (key === undefined) return fresh(operation, await run(plainCommit(deps.db)))
      const { method, status } = operation
      return once(deps, { caller, key, method, path: pathOf(url), body, status }, run)
    })
    if (answer.replayed) reply.header('Idempotent-Replayed', 'true')
    return reply.code(answer.status).type(JSON_TYPE).send(answer.json)
  }
}

function audited(
  { change }: Operation,
  commit: Commit,
  caller: Caller,
  object: string,
  requestId: string,
): Commit {
  if (!change) return commit
  const { kind, id, name, organisationId } = caller
  return auditedCommit(commit, {
    organisationId,
    actor: { kind, id, name },
    action: change,
    object,
    requestId,
  })
}

function fresh(operation: Operation, result: unknown): Answer {
  return { status: operation.status, json: JSON.stringify(result), replayed: false }
}

function paramIn(params: unknown, name: string): string {
  const value: unknown = typeof params === 'object' && params ? Reflect.get(params, name) : undefined
  return typeof value === 'string' ? value : ''
}

function pathOf(url: string): string {
  const [path = ''] = url.split('?')
  return path
}
