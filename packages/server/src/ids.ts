import { randomBytes, randomFillSync } from 'node:crypto'
import { SECRET_PREFIX } from '@tapedeck/contract/signature'

const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

export type IdPrefix = 'ses' | 'seg' | 'org' | 'key' | 'we' | 'evt' | 'del' | 'usr' | 'inv'

/** Prefix, 48 bits of time so that ids sort by age, 128 random bits so that none can be guessed. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  const bytes = Buffer.alloc(22)
  bytes.writeUIntBE(nowMs, 0, 6)
  randomFillSync(bytes, 6)
  return `${prefix}_${base32(bytes)}`
}

/** 22 bytes in base32. */
const RANDOM = /^[0-9a-v]{36}$/

/** Whether a text can be an id at all; what cannot is not looked up. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && RANDOM.test(text.slice(prefix.length + 1))
}

// Requests are many: their randomness is drawn for 256 of them at once.
const pool = Buffer.alloc(16 * 256)
let used = pool.length

export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += 16
  return `req_${pool.toString('hex', used - 16, used)}`
}

/** An API key: 160 random bits behind its prefix. */
export function newKey(mode: 'live' | 'test'): string {
  return `svc_${mode}_${base32(randomBytes(20))}`
}

/** What a link of an invitation carries: 160 random bits. */
export function newInvitationToken(): string {
  return base32(randomBytes(20))
}

/** The key of a webhook endpoint's signatures: 192 random bits. */
export function newWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(24).toString('base64url')}`
}

/** Tells apart two objects written for the same part. */
export function newNonce(): string {
  return base32(randomBytes(10))
}

function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(value >> bits) & 31]
    }
    value &= (1 << bits) - 1
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text
}
