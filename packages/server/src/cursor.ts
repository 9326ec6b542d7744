import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalid } from './errors.ts'

// A cursor is the place after the last item of a page, sealed together with the filters it belongs to, so
// that a garbled one, a made-up one and one of another list are all refused.

export type Place = { createdAt: Date; id: string }

const SEAL_BYTES = 16
const PLACE = /^(\d{1,16})\.([a-z]+_[0-9a-v]+)$/

export function writeCursor(key: Buffer, filters: unknown, { createdAt, id }: Place): string {
  const place = `${createdAt.getTime()}.${id}`
  return Buffer.concat([seal(key, filters, place), Buffer.from(place)]).toString('base64url')
}

export function readCursor(key: Buffer, filters: unknown, cursor: string): Place {
  const bytes = Buffer.from(cursor, 'base64url')
  const place = bytes.subarray(SEAL_BYTES).toString('latin1')
  const [, time, id] = PLACE.exec(place) ?? []
  const genuine =
    bytes.length > SEAL_BYTES && timingSafeEqual(bytes.subarray(0, SEAL_BYTES), seal(key, filters, place))
  if (!genuine || !time || !id) {
    throw invalid('cursor', 'cursor must be the next_cursor of a page with the same filters')
  }
  return { createdAt: new Date(Number(time)), id }
}

function seal(key: Buffer, filters: unknown, place: string): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([filters, place]))
    .digest()
    .subarray(0, SEAL_BYTES)
}
