import type { ErrorCode } from '@tapedeck/contract'
import Type, { type Static, type TObject, type TSchema } from 'typebox'
import type { Action } from '../access/audit.ts'
import type { Caller } from '../access/caller.ts'
import type { Commit } from '../db/commit.ts'

/** No query, or no body. */
export const Nothing = Type.Object({}, { additionalProperties: false })

/** What a verb is given: who asks, which object, and the parsed input. */
export type Input<Query extends TSchema, Body extends TSchema> = {
  caller: Caller
  /** `{id}` of the path; empty where the path has none. */
  id: string
  /** `{delivery}` of the path, likewise. */
  delivery: string
  query: Static<Query>
  body: Static<Body>
  commit: Commit
}

/** One row of the API: how it is called, what it takes and gives, and the verb that does it. */
export type Operation<Query extends TObject = TObject, Body extends TObject = TObject> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  id: string
  tag: 'Sessions' | 'Segments' | 'Devices' | 'Webhooks' | 'Events'
  permission: 'read' | 'write'
  /** How the audit log calls what it does; every operation that needs `write` has it but the completion of an upload. */
  change?: Action
  summary: string
  description: string
  query: Query
  body: Body
  status: 200 | 201
  response: TSchema
  errors: ErrorCode[]
  /** A request body and an answer, as they are on the wire. */
  example: { body?: unknown; response: unknown }
  run(input: Input<Query, Body>): Promise<unknown>
}

/** Ties the schemas to the verb, then forgets their types so that operations fit in one table. */
export function operation<Query extends TObject, Body extends TObject>(
  row: Operation<Query, Body>,
): Operation {
  return row as unknown as Operation
}
