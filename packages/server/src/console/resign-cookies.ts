import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Keys } from '../secrets.ts'

// better-auth knows one secret for its cookies. A cookie that another secret has signed, which is still accepted, is
// handed to it as if the first had: whoever is signed in stays so while the secret is exchanged.

/** `value.signature`, as better-auth signs: base64 of an HMAC-SHA256. */
const SIGNED = /^(.+)\.([A-Za-z0-9+/]{43}=)$/s

/** A `Cookie` header with every signature of another key replaced by one of the first. */
export function resignCookies(header: string, [first, ...others]: Keys<string>): string {
  if (others.length === 0) return header
  return header
    .split(';')
    .map((cookie) => {
      const [name = '', ...rest] = cookie.split('=')
      const [, value, signature] = SIGNED.exec(decoded(rest.join('='))) ?? []
      if (value === undefined || signature === undefined) return cookie
      if (!others.some((key) => isSignature(key, value, signature))) return cookie
      return `${name}=${encodeURIComponent(`${value}.${sign(first, value)}`)}`
    })
    .join(';')
}

function isSignature(key: string, value: string, signature: string): boolean {
  return timingSafeEqual(Buffer.from(sign(key, value)), Buffer.from(signature))
}

function sign(key: string, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64')
}

/** Anybody may send anything; what cannot be decoded is nothing of ours. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
