import { SIGNATURE_TOLERANCE_S } from '@tapedeck/contract/signature'
import { SignatureError } from './errors.ts'
import { parseExact } from './exact-json.ts'
import type { Event } from './objects.ts'

export type VerifyOptions = {
  /** How far the clocks may differ, either way. Default 300. */
  toleranceS?: number
  /** Instead of the clock, in milliseconds. */
  nowMs?: number
}

type Body = string | Uint8Array | ArrayBuffer

/**
 * The event of a webhook, if `Service-Signature` proves that it is from the holder of the secret and fresh. Takes the
 * body exactly as it came: parsed and written again it has other bytes.
 */
export async function verifyWebhook(
  body: Body,
  header: string | null | undefined,
  secret: string,
  { toleranceS = SIGNATURE_TOLERANCE_S, nowMs = Date.now() }: VerifyOptions = {},
): Promise<Event> {
  const { time, signatures } = readHeader(header)
  const bytes = toBytes(body)
  const message = signedMessage(time, bytes)
  const key = await importKey(secret, 'verify')
  let genuine = false
  // All of them, in the same time whichever is right; `verify` itself compares in constant time.
  for (const signature of signatures) {
    if (await crypto.subtle.verify('HMAC', key, signature, message)) genuine = true
  }
  if (!genuine) throw new SignatureError('signature_mismatch', 'the body was not signed with this secret')
  const apartS = Math.abs(nowMs / 1000 - Number(time))
  if (apartS > toleranceS) {
    throw new SignatureError(
      'signature_too_old',
      `the signature is ${Math.round(apartS)} s away from this clock, more than ${toleranceS} s`,
    )
  }
  return parseExact(new TextDecoder().decode(bytes)) as Event
}

/** The value of `Service-Signature` for a body, for tests of a receiver. */
export async function signWebhook(
  body: Body,
  secret: string,
  { timestampS = Math.floor(Date.now() / 1000) }: { timestampS?: number } = {},
): Promise<string> {
  const time = String(timestampS)
  const key = await importKey(secret, 'sign')
  const digest = await crypto.subtle.sign('HMAC', key, signedMessage(time, toBytes(body)))
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `t=${time},v1=${hex}`
}

const MAX_SIGNATURES = 10

/** `t=<unix seconds>,v1=<hex>[,v1=<hex> …]`; fields that are not known are for later versions. */
function readHeader(header: string | null | undefined) {
  const fields = (header ?? '').split(',').map((field) => field.trim().split('=', 2))
  const times = fields.filter(([name]) => name === 't').map(([, value = '']) => value)
  const signatures = fields
    .filter(([name]) => name === 'v1')
    .map(([, value = '']) => fromHex(value))
    .filter((bytes) => bytes !== undefined)
    .slice(0, MAX_SIGNATURES)
  const [time = ''] = times
  if (times.length !== 1 || !/^\d{1,12}$/.test(time) || signatures.length === 0) {
    throw new SignatureError(
      'signature_malformed',
      'Service-Signature must be of the form t=<unix seconds>,v1=<64 hex digits>',
    )
  }
  return { time, signatures }
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[0-9a-f]{64}$/.test(text)) return undefined
  return Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(text.slice(index * 2, index * 2 + 2), 16),
  )
}

function signedMessage(time: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${time}.`)
  const message = new Uint8Array(head.length + body.length)
  message.set(head)
  message.set(body, head.length)
  return message
}

function toBytes(body: Body): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  return body instanceof Uint8Array ? body : new Uint8Array(body)
}

function importKey(secret: string, use: 'sign' | 'verify') {
  const bytes = new TextEncoder().encode(secret)
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [use])
}
