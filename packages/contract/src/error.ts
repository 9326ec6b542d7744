import Type from 'typebox'

/** The contract's error types and the status of each; a code may narrow an `api_error` to 503. */
export const errorTypes = {
  invalid_request: 400,
  authentication: 401,
  permission: 403,
  not_found: 404,
  conflict: 409,
  processing: 422,
  rate_limited: 429,
  api_error: 500,
} as const

export type ErrorType = keyof typeof errorTypes

type CodeEntry = { type: ErrorType; status?: number; meaning: string; remedy: string }

/** Every `code` the service can answer with. docs/api.md lists exactly these; a test says so. */
export const errorCodes = {
  parameter_invalid: {
    type: 'invalid_request',
    meaning: 'A parameter is missing, malformed or out of range; `param` names it.',
    remedy: 'Correct the parameter named by `param`.',
  },
  parameter_unknown: {
    type: 'invalid_request',
    meaning: 'The request has a parameter that this operation does not know; nothing is ignored.',
    remedy: 'Remove it, or look for a misspelt name.',
  },
  content_type_invalid: {
    type: 'invalid_request',
    meaning: 'The body is not declared as `application/json` (in UTF-8).',
    remedy: 'Send `Content-Type: application/json`.',
  },
  body_invalid: {
    type: 'invalid_request',
    meaning: 'The body is not one valid JSON object in UTF-8, or names a field twice.',
    remedy: 'Send one JSON object with each field once.',
  },
  body_too_large: {
    type: 'invalid_request',
    meaning: 'The JSON body is larger than the service accepts (2 MiB).',
    remedy: 'Send recordings to the part URLs, not to the API.',
  },
  request_malformed: {
    type: 'invalid_request',
    meaning: 'The request is not well-formed HTTP, its head is too large, or it did not arrive in time.',
    remedy: 'Check the client or the proxy in between.',
  },
  idempotency_key_reused: {
    type: 'invalid_request',
    meaning: 'The `Idempotency-Key` was used within 24 hours for another request.',
    remedy: 'Use a new key for a new request.',
  },
  too_many_endpoints: {
    type: 'invalid_request',
    meaning: 'The organisation has 100 webhook endpoints, which is the most.',
    remedy: 'Delete one that is not used, or subscribe one endpoint to more events.',
  },
  checksum_required: {
    type: 'invalid_request',
    meaning: 'A part came without its SHA-256.',
    remedy: 'Send `x-amz-checksum-sha256` with the base64 of the digest of the part.',
  },
  part_checksum_mismatch: {
    type: 'invalid_request',
    meaning: 'The bytes received do not hash to the checksum sent with the part. Nothing of it was kept.',
    remedy: 'Send the part again.',
  },
  part_size_mismatch: {
    type: 'invalid_request',
    meaning: 'The part is not as long as its place in the file demands. Nothing of it was kept.',
    remedy: 'Send exactly `part_size` bytes, and what is left in the last part.',
  },
  key_missing: {
    type: 'authentication',
    meaning: 'No API key came with the request.',
    remedy: 'Send `Authorization: Bearer <API_KEY>`.',
  },
  key_invalid: {
    type: 'authentication',
    meaning: 'The API key is not known.',
    remedy: 'Check the key; make a new one with `tapedeck keys create`.',
  },
  key_revoked: {
    type: 'authentication',
    meaning: 'The API key was revoked.',
    remedy: 'Use another key.',
  },
  sign_in_required: {
    type: 'authentication',
    meaning: 'Nobody is signed in to the console, or the sign-in has ended.',
    remedy: 'Sign in again.',
  },
  sign_in_failed: {
    type: 'authentication',
    meaning: 'Email address and password do not belong together.',
    remedy: 'Try again, or ask an owner for a new invitation.',
  },
  write_required: {
    type: 'permission',
    meaning: 'The key, or the role of the member, has no `write` permission.',
    remedy: 'Use a key with `read,write`, or ask an owner for another role.',
  },
  membership_required: {
    type: 'permission',
    meaning: 'The account is not a member of the organisation, or is no longer.',
    remedy: 'Ask an owner of the organisation for an invitation.',
  },
  owner_required: {
    type: 'permission',
    meaning: 'Only owners of the organisation may do this.',
    remedy: 'Ask an owner.',
  },
  origin_refused: {
    type: 'permission',
    meaning: 'A request of a signed-in member came from a page that is not the console.',
    remedy: 'Use the console, or an API key.',
  },
  organisation_mismatch: {
    type: 'permission',
    meaning: 'The object belongs to another organisation.',
    remedy: 'Use a key of the organisation that owns it.',
  },
  signature_invalid: {
    type: 'permission',
    meaning: 'The upload URL is not one that the service signed.',
    remedy: 'Retrieve the session and use the URL of the part as it is.',
  },
  upload_url_expired: {
    type: 'permission',
    meaning: 'The upload URL was valid until a time that has passed.',
    remedy: 'Retrieve the session for fresh URLs.',
  },
  route_unknown: {
    type: 'not_found',
    meaning: 'There is no such path, or not with this method.',
    remedy: 'See the reference at `/docs`.',
  },
  session_not_found: {
    type: 'not_found',
    meaning: 'There is no such session; it may have been deleted.',
    remedy: 'Check the id.',
  },
  segment_not_found: {
    type: 'not_found',
    meaning: 'There is no such segment; its session may have been deleted or processed anew.',
    remedy: 'Search for it again.',
  },
  device_not_found: {
    type: 'not_found',
    meaning: 'No session of this device was recorded, and no calibration of it is stored.',
    remedy: 'Check the name; see `GET /v1/devices`.',
  },
  webhook_endpoint_not_found: {
    type: 'not_found',
    meaning: 'There is no such webhook endpoint; it may have been deleted.',
    remedy: 'Check the id.',
  },
  event_not_found: {
    type: 'not_found',
    meaning: 'There is no such event, or it is no longer kept.',
    remedy: 'Check the id.',
  },
  delivery_not_found: {
    type: 'not_found',
    meaning: 'The endpoint has no such delivery, or it is no longer kept.',
    remedy: 'Check the id.',
  },
  key_not_found: {
    type: 'not_found',
    meaning: 'The organisation has no such key.',
    remedy: 'Check the id.',
  },
  member_not_found: {
    type: 'not_found',
    meaning: 'The organisation has no such member.',
    remedy: 'Check the id.',
  },
  invitation_not_found: {
    type: 'not_found',
    meaning: 'The invitation does not exist, was used or withdrawn, or has expired.',
    remedy: 'Ask an owner for a new link.',
  },
  checksum_mismatch: {
    type: 'conflict',
    meaning: 'The parts do not hash to the `sha256` of the session. All parts are kept.',
    remedy: 'Compare `upload.received` with the file and send the wrong parts again.',
  },
  parts_missing: {
    type: 'conflict',
    meaning: 'Not every part has been received.',
    remedy: 'Retrieve the session and send what `upload.parts` lists.',
  },
  already_completed: {
    type: 'conflict',
    meaning: 'The upload was completed before.',
    remedy: 'Retrieve the session to follow it.',
  },
  completion_in_progress: {
    type: 'conflict',
    meaning: 'Another request is completing this upload.',
    remedy: 'Retrieve the session until its status changes.',
  },
  upload_closed: {
    type: 'conflict',
    meaning: 'The session takes no more parts: its upload was completed.',
    remedy: 'Create a new session for another file.',
  },
  not_processed: {
    type: 'conflict',
    meaning: 'The session has not been processed, so this does not exist yet.',
    remedy: 'Follow the session until it is `processed`.',
  },
  delivery_pending: {
    type: 'conflict',
    meaning: 'The delivery is still being tried.',
    remedy: 'Wait until it has succeeded or failed; `next_attempt_at` says when it is tried next.',
  },
  endpoint_disabled: {
    type: 'conflict',
    meaning: 'The webhook endpoint is disabled; nothing is sent to it.',
    remedy: 'Enable it first.',
  },
  account_exists: {
    type: 'conflict',
    meaning: 'There is an account with this email address.',
    remedy: 'Sign in, then open the link of the invitation again.',
  },
  last_owner: {
    type: 'conflict',
    meaning: 'It would leave the organisation without an owner.',
    remedy: 'Make another member an owner first.',
  },
  idempotency_key_in_use: {
    type: 'conflict',
    meaning: 'A request with this `Idempotency-Key` is still running.',
    remedy: 'Try again after `Retry-After` seconds.',
  },
  rate_limit_exceeded: {
    type: 'rate_limited',
    meaning: 'Too many requests in this minute.',
    remedy: 'Wait for `Retry-After` seconds.',
  },
  too_many_streams: {
    type: 'rate_limited',
    meaning: 'The organisation has as many event streams open at this node as it may (20).',
    remedy: 'Close one that is not used.',
  },
  internal_error: {
    type: 'api_error',
    meaning: 'A fault of the service.',
    remedy: 'Try again with the same `Idempotency-Key`; if it stays, report the `request_id`.',
  },
  overloaded: {
    type: 'api_error',
    status: 503,
    meaning: 'The service has more work than it can do in time, or is stopping.',
    remedy: 'Try again after `Retry-After` seconds.',
  },
  database_unavailable: {
    type: 'api_error',
    status: 503,
    meaning: 'The database does not answer.',
    remedy: 'Try again after `Retry-After` seconds.',
  },
  sign_in_unavailable: {
    type: 'api_error',
    status: 503,
    meaning: 'The other service that members sign in with does not answer.',
    remedy: 'Try again later, or sign in with a password.',
  },
  storage_unavailable: {
    type: 'api_error',
    status: 503,
    meaning: 'The storage cannot take or give bytes now, for example because it is full. Nothing was kept.',
    remedy: 'Try again after `Retry-After` seconds; the operator may have to make room.',
  },
} as const satisfies Record<string, CodeEntry>

export type ErrorCode = keyof typeof errorCodes

export function errorType(code: ErrorCode): ErrorType {
  return errorCodes[code].type
}

export function errorStatus(code: ErrorCode): number {
  const entry: CodeEntry = errorCodes[code]
  return entry.status ?? errorTypes[entry.type]
}

export const ErrorBody = Type.Object(
  {
    error: Type.Object({
      type: Type.Enum(Object.keys(errorTypes), {
        description: 'The class of the error; decides the status.',
      }),
      code: Type.String({ description: 'A stable word for the exact case. See docs/api.md.' }),
      message: Type.String({ description: 'What was found, what was expected, what to do. For people.' }),
      param: Type.String({
        description: 'The offending parameter, as a path. Empty where none is at fault.',
      }),
      request_id: Type.String({ description: 'Equals the `Request-Id` header.' }),
    }),
  },
  { title: 'Error' },
)
export type ErrorBody = Type.Static<typeof ErrorBody>
