import { createHmac, timingSafeEqual } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { invalid } from './errors.ts'
import type { Keys } from './secrets.ts'

// A cursor is the place after the last item of a page, sealed together with the filters it belongs to, so that a
// garbled one, a made-up one and one of another list are all refused.

export type Place = { createdAt: Date; id: string }

export type Page<Item> = { object: 'list'; data: Item[]; has_more: boolean; next_cursor: string | null }

const SEAL_BYTES = 16
const PLACE = /^(\d{1,16})\.([a-z]+_[0-9a-v]+)$/

export function readCursor(keys: Keys, filters: unknown, cursor: string): Place {
  const [, time, id] = PLACE.exec(unseal(keys, filters, cursor)) ?? []
  if (!time || !id) throw wrongCursor()
  return { createdAt: new Date(Number(time)), id }
}

/** The rows after a cursor, in the order of every list; all of them without one. */
export function afterCursor(keys: Keys, filters: unknown, cursor: string | undefined): RawBuilder<boolean> {
  if (cursor === undefined) return sql<boolean>`true`
  const { createdAt, id } = readCursor(keys, filters, cursor)
  return sql<boolean>`(created_at, id) < (${createdAt}, ${id})`
}

/** One page, newest first, from rows that were read with one more than the limit. */
export function toPage<Row extends { created_at: Date; id: string }, Item>(
  keys: Keys,
  filters: unknown,
  rows: Row[],
  limit: number,
  toObject: (row: Row) => Item,
): Page<Item> {
  const placeOf = (row: Row) => `${row.created_at.getTime()}.${row.id}`
  return pageOf(rows, limit, toObject, (last) => seal(keys, filters, placeOf(last)))
}

/** The last name of the page before, for lists by name; empty without one. */
export function readNameCursor(keys: Keys, filters: unknown, cursor: string | undefined): string {
  return cursor === undefined ? '' : unseal(keys, filters, cursor)
}

/** One page by name. */
export function toNamePage<Row extends { name: string }, Item>(
  keys: Keys,
  filters: unknown,
  rows: Row[],
  limit: number,
  toObject: (row: Row) => Item,
): Page<Item> {
  return pageOf(rows, limit, toObject, (last) => seal(keys, filters, last.name))
}

function pageOf<Row, Item>(
  rows: Row[],
  limit: number,
  toObject: (row: Row) => Item,
  cursorAfter: (last: Row) => string,
): Page<Item> {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    object: 'list',
    data: page.map(toObject),
    has_more: last !== undefined,
    next_cursor: last === undefined ? null : cursorAfter(last),
  }
}

function seal([key]: Keys, filters: unknown, place: string): string {
  return Buffer.concat([sealOf(key, filters, place), Buffer.from(place)]).toString('base64url')
}

function unseal(keys: Keys, filters: unknown, cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const place = bytes.subarray(SEAL_BYTES).toString('utf8')
  // The last character of base64 may have bits that decoding ignores: only what we wrote is taken.
  const ours = bytes.length > SEAL_BYTES && bytes.toString('base64url') === cursor
  const isSeal = (key: Buffer) => timingSafeEqual(bytes.subarray(0, SEAL_BYTES), sealOf(key, filters, place))
  if (!ours || !keys.some(isSeal)) throw wrongCursor()
  return place
}

function sealOf(key: Buffer, filters: unknown, place: string): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([filters, place]))
    .digest()
    .subarray(0, SEAL_BYTES)
}

function wrongCursor(): Error {
  return invalid('cursor', 'cursor must be the next_cursor of a page with the same filters')
}
