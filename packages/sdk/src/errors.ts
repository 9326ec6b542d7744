/** Every error of this package. `type` says how to react, `code` is the exact case. */
export class TapedeckError extends Error {
  /** The class of the error, as the API calls it; `connection`, `source` and `signature` are of this package. */
  readonly type: string
  readonly code: string
  /** The parameter at fault; empty where none is. */
  readonly param: string
  /** Names the request in the log of the service; empty where no answer came. */
  readonly requestId: string
  /** HTTP status; 0 where no answer came. */
  readonly status: number
  /** Seconds that the service asks to wait. */
  readonly retryAfterS: number | undefined

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = new.target.name
    this.type = details.type
    this.code = details.code
    this.param = details.param ?? ''
    this.requestId = details.requestId ?? ''
    this.status = details.status ?? 0
    this.retryAfterS = details.retryAfterS
  }
}

export type ErrorDetails = {
  type: string
  code: string
  param?: string
  requestId?: string
  status?: number
  retryAfterS?: number | undefined
  cause?: unknown
}

/** 400: a parameter is missing or malformed. */
export class InvalidRequestError extends TapedeckError {}
/** 401: the key is missing, revoked or wrong. */
export class AuthenticationError extends TapedeckError {}
/** 403: the key lacks `write`, or the object belongs to another organisation. */
export class PermissionError extends TapedeckError {}
/** 404: there is no such object. */
export class NotFoundError extends TapedeckError {}
/** 409: the request conflicts with the state of the object. */
export class ConflictError extends TapedeckError {}
/** 422: valid, but it cannot be done. */
export class ProcessingError extends TapedeckError {}
/** 429: too many requests. */
export class RateLimitedError extends TapedeckError {}
/** 5xx: a fault on the side of the service. */
export class ApiError extends TapedeckError {}

/** No answer, or none of Tapedeck: unreachable, cut off, too slow, another server. */
export class ConnectionError extends TapedeckError {
  constructor(
    code: 'unreachable' | 'timeout' | 'response_invalid' | 'certificate_invalid',
    message: string,
    details: { status?: number; cause?: unknown } = {},
  ) {
    super(message, { type: 'connection', code, ...details })
  }
}

/** What is to be uploaded cannot be read, or is not what it was when the upload began. */
export class SourceError extends TapedeckError {
  constructor(
    code: 'source_unreadable' | 'source_empty' | 'source_changed',
    message: string,
    cause?: unknown,
  ) {
    super(message, { type: 'source', code, cause })
  }
}

/** A webhook that was not signed with the secret, or too long ago. */
export class SignatureError extends TapedeckError {
  constructor(code: 'signature_malformed' | 'signature_mismatch' | 'signature_too_old', message: string) {
    super(message, { type: 'signature', code })
  }
}

const classes: Record<string, typeof TapedeckError> = {
  invalid_request: InvalidRequestError,
  authentication: AuthenticationError,
  permission: PermissionError,
  not_found: NotFoundError,
  conflict: ConflictError,
  processing: ProcessingError,
  rate_limited: RateLimitedError,
  api_error: ApiError,
}

export type Refusal = { status: number; retryAfter: string | null; requestId: string | null; body: string }

/** The error that an answer other than 2xx stands for. */
export function errorOf(refusal: Refusal, where: string): TapedeckError {
  const { status } = refusal
  const said = readErrorBody(refusal.body)
  const retryAfterS = secondsIn(refusal.retryAfter)
  const requestId = said?.request_id ?? refusal.requestId ?? ''
  if (said) {
    const Class = classes[said.type] ?? TapedeckError
    return new Class(said.message, { ...said, requestId, status, retryAfterS })
  }
  // A proxy in between, or a server that is not Tapedeck at all.
  if (status >= 500) {
    const message = `${where} answered ${status} without saying why`
    return new ApiError(message, {
      type: 'api_error',
      code: 'internal_error',
      requestId,
      status,
      retryAfterS,
    })
  }
  if (status === 429) {
    const message = `${where} answered 429: too many requests`
    const details = { type: 'rate_limited', code: 'rate_limit_exceeded', requestId, status, retryAfterS }
    return new RateLimitedError(message, details)
  }
  return new ConnectionError(
    'response_invalid',
    `${where} answered ${status}, but not as Tapedeck does; check the address`,
    { status },
  )
}

type Said = { type: string; code: string; message: string; param: string; request_id: string }

function readErrorBody(body: string): Said | undefined {
  try {
    const error: unknown = JSON.parse(body)?.error
    if (typeof error !== 'object' || error === null) return undefined
    const text = (name: string) => String(Reflect.get(error, name) ?? '')
    const said = {
      type: text('type'),
      code: text('code'),
      message: text('message'),
      param: text('param'),
      request_id: text('request_id'),
    }
    return said.type === '' || said.code === '' ? undefined : said
  } catch {
    return undefined
  }
}

function secondsIn(retryAfter: string | null): number | undefined {
  const seconds = Number(retryAfter ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}
