export {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  ProcessingError,
  RateLimitedError,
  SignatureError,
  SourceError,
  TapedeckError,
} from './errors.ts'
export type { StreamedEvent, StreamOptions } from './event-stream.ts'
export { parseExact, stringifyExact } from './exact-json.ts'
export { List, type Page } from './list.ts'
export type * from './objects.ts'
export { Tapedeck } from './tapedeck.ts'
export type { Fetch, RequestOptions, TapedeckOptions } from './transport.ts'
export type { UploadCheckpoint } from './upload/checkpoint.ts'
export type { UploadProgress } from './upload/progress.ts'
export type { ReadableAt, UploadSource } from './upload/source.ts'
export type { UploadOptions } from './upload/upload.ts'
export type { WaitOptions } from './wait.ts'
export { signWebhook, type VerifyOptions, verifyWebhook } from './webhook-signature.ts'
