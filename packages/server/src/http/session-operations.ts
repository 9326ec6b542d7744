import {
  CompleteSession,
  CreatedSession,
  CreateSession,
  DeletedSession,
  ListSessions,
  Session,
  SessionList,
} from '@tapedeck/contract'
import { complete } from '../sessions/complete.ts'
import { create } from '../sessions/create.ts'
import { list } from '../sessions/list.ts'
import { remove } from '../sessions/remove.ts'
import { retrieve } from '../sessions/retrieve.ts'
import { Nothing, type Operation, operation } from './operation.ts'
import * as example from './session-examples.ts'

export type SessionDeps = Parameters<typeof create>[0] &
  Parameters<typeof retrieve>[0] &
  Parameters<typeof complete>[0] &
  Parameters<typeof list>[0] &
  Parameters<typeof remove>[0]

export function sessionOperations(deps: SessionDeps): Operation[] {
  return [
    operation({
      method: 'POST',
      path: '/v1/sessions',
      id: 'createSession',
      tag: 'Sessions',
      permission: 'write',
      summary: 'Create a session',
      description: 'Plans the parts of one file and returns a signed URL for each.',
      query: Nothing,
      body: CreateSession,
      status: 201,
      response: CreatedSession,
      errors: ['body_invalid', 'body_too_large', 'content_type_invalid'],
      example: { body: example.createSession, response: example.createdSession },
      run: ({ caller, body, commit }) => create(deps, caller, body, commit),
    }),
    operation({
      method: 'GET',
      path: '/v1/sessions',
      id: 'listSessions',
      tag: 'Sessions',
      permission: 'read',
      summary: 'List sessions',
      description: 'Newest first. Sessions created while you page never shift a page.',
      query: ListSessions,
      body: Nothing,
      status: 200,
      response: SessionList,
      errors: [],
      example: { response: example.sessionList },
      run: ({ caller, query }) => list(deps, caller, query),
    }),
    operation({
      method: 'GET',
      path: '/v1/sessions/{id}',
      id: 'retrieveSession',
      tag: 'Sessions',
      permission: 'read',
      summary: 'Retrieve a session',
      description:
        'While the session is uploading, `upload` lists the parts still missing and those received, with fresh URLs: this is how an interrupted upload goes on.',
      query: Nothing,
      body: Nothing,
      status: 200,
      response: Session,
      errors: ['organisation_mismatch', 'session_not_found'],
      example: { response: example.uploadingSession },
      run: ({ caller, id }) => retrieve(deps, caller, id),
    }),
    operation({
      method: 'POST',
      path: '/v1/sessions/{id}/complete',
      id: 'completeSession',
      tag: 'Sessions',
      permission: 'write',
      summary: 'Complete a session',
      description:
        'Verifies the SHA-256 of the whole file and starts processing. It goes on when the client hangs up; retrieve the session to learn how it ended.',
      query: Nothing,
      body: CompleteSession,
      status: 200,
      response: Session,
      errors: [
        'body_invalid',
        'body_too_large',
        'content_type_invalid',
        'organisation_mismatch',
        'session_not_found',
        'parts_missing',
        'checksum_mismatch',
        'already_completed',
        'completion_in_progress',
      ],
      example: { body: example.completeSession, response: example.processingSession },
      run: ({ caller, id, body, commit }) => complete(deps, caller, id, body, commit),
    }),
    operation({
      method: 'DELETE',
      path: '/v1/sessions/{id}',
      id: 'deleteSession',
      tag: 'Sessions',
      permission: 'write',
      summary: 'Delete a session',
      description: 'Deletes the recording and everything derived from it. This cannot be undone.',
      query: Nothing,
      body: Nothing,
      status: 200,
      response: DeletedSession,
      errors: ['organisation_mismatch', 'session_not_found'],
      example: { response: example.deletedSession },
      run: ({ caller, id }) => remove(deps, caller, id),
    }),
  ]
}
