import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** What an upload URL grants: to send one part of one session until a time. */
export type PartAddress = { sessionId: string; number: number; expiresS: number }

/** The signature covers neither host nor path, so that a proxy may rewrite both. */
export function signPart(key: KeyObject, { sessionId, number, expiresS }: PartAddress): string {
  return createHmac('sha256', key).update(`${sessionId}/${number}/${expiresS}`).digest('base64url')
}

/** Whether one of the keys has signed it. */
export function isSigned(keys: readonly KeyObject[], address: PartAddress, signature: string): boolean {
  const given = Buffer.from(signature)
  return keys.some((key) => {
    const expected = Buffer.from(signPart(key, address))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
