import type { ErrorCode } from '@tapedeck/contract'

type Details = { param?: string; retryAfterS?: number; cause?: unknown }

/** A refusal with a code of the contract. The status follows from the code, in one place. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly param: string
  readonly retryAfterS: number | undefined

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause })
    this.name = 'ApiError'
    this.code = code
    this.param = details.param ?? ''
    this.retryAfterS = details.retryAfterS
  }
}

export function invalid(param: string, message: string): ApiError {
  return new ApiError('parameter_invalid', message, { param })
}

/** The `code` of a system or database error, if it has one. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
