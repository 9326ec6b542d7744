import { type ErrorBody, ORGANISATION_HEADER } from '@tapedeck/contract'

/** A refusal of the service, in its own words. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly param: string
  readonly requestId: string

  constructor(status: number, { code, message, param, request_id }: ErrorBody['error']) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
    this.requestId = request_id
  }
}

/** The service could not be asked at all. */
export class Unreachable extends Error {}

export type Ask = <T>(method: string, path: string, body?: unknown) => Promise<T>

/** Asks in the name of one organisation; empty where no organisation is needed. */
export function askFor(organisation: string): Ask {
  return async <T>(method: string, path: string, body?: unknown) =>
    (await exchange<T>(organisation, method, path, body)).value
}

/** The answer, and the text that it came as. */
export async function exchange<T>(
  organisation: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ value: T; text: string }> {
  const response = await send(organisation, method, path, body)
  const text = await response.text()
  const value: unknown = parse(text)
  if (response.ok) return { value: value as T, text }
  throw isErrorBody(value) ? new Refusal(response.status, value.error) : strange(response)
}

async function send(organisation: string, method: string, path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      headers: {
        [ORGANISATION_HEADER]: organisation,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch (cause) {
    throw new Unreachable(
      'The service does not answer. It may be restarting; this page tries again by itself.',
      { cause },
    )
  }
}

function parse(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** Nanoseconds pass what a number holds exactly: those become a bigint. */
export function parseExact(text: string): unknown {
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? BigInt(context?.source ?? '')
      : value
  return JSON.parse(text, exact)
}

function isErrorBody(value: unknown): value is ErrorBody {
  return typeof value === 'object' && value !== null && 'error' in value
}

/** Something in between answered: a proxy, a portal. */
function strange(response: Response): Unreachable {
  return new Unreachable(
    `The service answered with ${response.status} and nothing that this page understands.`,
  )
}
