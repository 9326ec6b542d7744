import { createHmac, timingSafeEqual } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { invalid } from './errors.ts'

// A cursor is the place after the last item of a page, sealed together with the filters it belongs to, so
// that a garbled one, a made-up one and one of another list are all refused.

export type Place = { createdAt: Date; id: string }

const SEAL_BYTES = 16
const PLACE = /^(\d{1,16})\.([a-z]+_[0-9a-v]+)$/

function writeCursor(key: Buffer, filters: unknown, { createdAt, id }: Place): string {
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

/** The rows after a cursor, in the order of every list; all of them without one. */
export function afterCursor(key: Buffer, filters: unknown, cursor: string | undefined): RawBuilder<boolean> {
  if (cursor === undefined) return sql<boolean>`true`
  const { createdAt, id } = readCursor(key, filters, cursor)
  return sql<boolean>`(created_at, id) < (${createdAt}, ${id})`
}

/** One page from rows that were read with one more than the limit. */
export function toPage<Row extends { created_at: Date; id: string }, Item>(
  key: Buffer,
  filters: unknown,
  rows: Row[],
  limit: number,
  toObject: (row: Row) => Item,
): { object: 'list'; data: Item[]; has_more: boolean; next_cursor: string | null } {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    object: 'list',
    data: page.map(toObject),
    has_more: last !== undefined,
    next_cursor: last ? writeCursor(key, filters, { createdAt: last.created_at, id: last.id }) : null,
  }
}

function seal(key: Buffer, filters: unknown, place: string): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([filters, place]))
    .digest()
    .subarray(0, SEAL_BYTES)
}
