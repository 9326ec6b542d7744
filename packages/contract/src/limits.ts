// Every number of the contract has its one home here.

export const MIN_PART_BYTES = 8_000_000
export const MAX_PART_BYTES = 512 * 2 ** 20
export const DEFAULT_PART_BYTES = 64 * 2 ** 20
/** With no `part_size` given, a large file gets the smallest multiple of this that fits in `MAX_PARTS`. */
export const PART_BYTES_STEP = 2 ** 20
export const MAX_PARTS = 10_000
export const MAX_FILE_BYTES = MAX_PARTS * MAX_PART_BYTES

export const MAX_NAME_CHARACTERS = 255
export const MAX_NOTES_CHARACTERS = 10_000

export const DEFAULT_PAGE_SIZE = 50
export const MAX_PAGE_SIZE = 500
export const MAX_CURSOR_CHARACTERS = 1024

export const MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
export const IDEMPOTENCY_WINDOW_HOURS = 24

/** A `complete` that names 10,000 parts takes about 1 MiB; nothing else comes near. */
export const MAX_BODY_BYTES = 2 * 2 ** 20

export const MAX_URL_CHARACTERS = 2048
export const MAX_DESCRIPTION_CHARACTERS = 500
export const MAX_WEBHOOK_ENDPOINTS = 100
export const MAX_REDELIVERIES = 10_000
/** A receiver has this long for its whole answer. */
export const WEBHOOK_TIMEOUT_MS = 10_000
export const WEBHOOK_WINDOW_HOURS = 24
export const WEBHOOK_RESPONSE_BYTES = 2048
export const SECRET_OVERLAP_HOURS = 24
/** Open at once at one node. */
export const MAX_EVENT_STREAMS = 20
/** A stream is never silent for longer. */
export const STREAM_HEARTBEAT_S = 15

/** Says for which organisation a signed-in member asks. No page of another origin can send it. */
export const ORGANISATION_HEADER = 'tapedeck-organisation'
export const MIN_PASSWORD_CHARACTERS = 10
export const MAX_PASSWORD_CHARACTERS = 128
