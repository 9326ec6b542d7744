import { type ErrorBody, errorStatus, errorType } from '@tapedeck/contract'
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isUnavailable } from '../db/database.ts'
import { ApiError, systemCode } from '../errors.ts'
import { StorageUnavailable } from '../storage/storage.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Answers with the one error body of the service. */
export function respondWithError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toApiError(error)
  logFault(refusal, request.log)
  if (refusal.retryAfterS !== undefined) reply.header('Retry-After', refusal.retryAfterS)
  return reply
    .code(errorStatus(refusal.code))
    .type(JSON_TYPE)
    .send(JSON.stringify(errorBody(refusal, request.id)))
}

export function errorBody(error: ApiError, requestId: string): ErrorBody {
  const { code, message, param } = error
  return { error: { type: errorType(code), code, message, param, request_id: requestId } }
}

/** What is not a refusal of ours is a fault: of the database, of the storage, of the framework's parsing, or ours. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof StorageUnavailable) {
    return new ApiError('storage_unavailable', error.message, { retryAfterS: 5, cause: error })
  }
  if (isUnavailable(error)) {
    return new ApiError('database_unavailable', 'the database does not answer; try again', {
      retryAfterS: 1,
      cause: error,
    })
  }
  const code = systemCode(error)
  if (code === '57014') {
    return new ApiError('overloaded', 'the database took too long; try again', {
      retryAfterS: 5,
      cause: error,
    })
  }
  return (
    fromFramework(code, error) ??
    new ApiError('internal_error', 'a fault of the service; it was logged', { cause: error })
  )
}

function fromFramework(code: string | undefined, error: unknown): ApiError | undefined {
  switch (code as FastifyError['code'] | undefined) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('body_too_large', 'the body is larger than 2 MiB; recordings go to the part URLs')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new ApiError(
        'content_type_invalid',
        'the body must be declared as Content-Type: application/json',
        {
          param: 'Content-Type',
        },
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ApiError('request_malformed', 'the body is not as long as Content-Length says', {
        cause: error,
      })
    case 'FST_ERR_BAD_URL':
      return new ApiError('route_unknown', 'the path is not well percent-encoded')
    // Of a QUERY alone, which nothing here takes.
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new ApiError('route_unknown', 'nothing here is asked with this method')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new ApiError('route_unknown', 'no path here has so long a step')
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new ApiError('request_malformed', 'the body was cut off', { cause: error })
    default:
      return undefined
  }
}

function logFault(error: ApiError, log: FastifyBaseLogger): void {
  if (error.code === 'internal_error') log.error({ err: error.cause }, 'request failed')
  else if (errorType(error.code) === 'api_error')
    log.warn({ code: error.code, err: error.cause }, 'request refused')
}
