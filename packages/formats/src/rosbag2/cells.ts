import { HEADER_BYTES, TABLE_LEAF } from './header.ts'

// Rows as they lie on the pages of a table: the length of a row, its id, then the types of its columns, then their
// values. What does not fit goes on in a chain of further pages. Nothing here trusts a number of the file.

export type Cell = {
  id: number
  /** Where it begins in the file. */
  at: number
  payloadBytes: number
  /** What of the payload lies on this page. */
  local: Uint8Array
  /** Page on which it goes on; 0 where it is all here. */
  next: number
  columns: Column[]
}

/** Where in the payload a value lies. Integers have no more than 8 bytes. */
export type Column = {
  kind: 'null' | 'integer' | 'text' | 'blob' | 'other'
  from: number
  bytes: number
  value?: number
}

const MAX_COLUMNS = 16
const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8]

/** The rows of a page that belongs to a table; none where it does not. Broken rows are passed over. */
export function* cellsOf(page: Uint8Array, pageAt: number, usableBytes: number): Iterable<Cell> {
  const begin = pageAt === 0 ? HEADER_BYTES : 0
  if (page[begin] !== TABLE_LEAF) return
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength)
  const end = Math.min(usableBytes, page.length)
  if (begin + 8 > end) return
  const count = Math.min(view.getUint16(begin + 3), Math.floor((end - begin - 8) / 2))
  for (let index = 0; index < count; index++) {
    const at = view.getUint16(begin + 8 + 2 * index)
    const cell = at >= begin + 8 ? readCell(page.subarray(0, end), at, usableBytes) : undefined
    if (cell) yield { ...cell, at: pageAt + at }
  }
}

export function readCell(page: Uint8Array, from: number, usableBytes: number): Cell | undefined {
  const length = readVarint(page, from)
  const id = length && readVarint(page, length.end)
  if (!id) return undefined
  const payloadBytes = length.value
  const localBytes = localBytesOf(payloadBytes, usableBytes)
  const localEnd = id.end + localBytes
  const isWhole = localBytes === payloadBytes
  if (localEnd + (isWhole ? 0 : 4) > page.length) return undefined
  const local = page.subarray(id.end, localEnd)
  const next = isWhole ? 0 : new DataView(page.buffer, page.byteOffset).getUint32(localEnd)
  const columns = readColumns(local, payloadBytes)
  return columns && { id: id.value, at: from, payloadBytes, local, next, columns }
}

/** How much of a payload stays on the page of the row, by the rules of the format. */
function localBytesOf(payloadBytes: number, usableBytes: number): number {
  const most = usableBytes - 35
  if (payloadBytes <= most) return payloadBytes
  const least = Math.floor(((usableBytes - 12) * 32) / 255) - 23
  const fitting = least + ((payloadBytes - least) % (usableBytes - 4))
  return fitting <= most ? fitting : least
}

/** Undefined where the columns do not fill the payload exactly. */
function readColumns(local: Uint8Array, payloadBytes: number): Column[] | undefined {
  const header = readVarint(local, 0)
  if (!header || header.value > local.length) return undefined
  const columns: Column[] = []
  let from = header.value
  for (let at = header.end; at < header.value; ) {
    const type = readVarint(local, at)
    if (!type || columns.length >= MAX_COLUMNS) return undefined
    const column = toColumn(type.value, from, local)
    columns.push(column)
    from += column.bytes
    at = type.end
  }
  return from === payloadBytes ? columns : undefined
}

function toColumn(type: number, from: number, local: Uint8Array): Column {
  if (type >= 12) return { kind: type % 2 === 0 ? 'blob' : 'text', from, bytes: Math.floor((type - 12) / 2) }
  if (type === 0) return { kind: 'null', from, bytes: 0 }
  if (type === 8 || type === 9) return { kind: 'integer', from, bytes: 0, value: type - 8 }
  const bytes = INTEGER_BYTES[type]
  if (bytes === undefined) return { kind: 'other', from, bytes: type === 7 ? 8 : 0 }
  return from + bytes <= local.length ? { kind: 'integer', from, bytes } : { kind: 'other', from, bytes }
}

/** An integer in two halves, the higher one signed. */
export function integerOf({ local }: Cell, { from, bytes, value }: Column): { high: number; low: number } {
  if (value !== undefined) return { high: 0, low: value }
  const view = new DataView(local.buffer, local.byteOffset + from, bytes)
  let high = view.getInt8(0) < 0 ? -1 : 0
  let low = high >>> 0
  for (let at = 0; at < bytes; at++) {
    high = (high << 8) | (low >>> 24)
    low = ((low << 8) | view.getUint8(at)) >>> 0
  }
  return { high, low }
}

/** Up to 9 bytes of 7 bits; past 2^53 it is inexact, and larger than anything believed. */
function readVarint(bytes: Uint8Array, from: number): { value: number; end: number } | undefined {
  let value = 0
  for (let at = from; at < from + 9; at++) {
    const byte = bytes[at]
    if (byte === undefined) return undefined
    if (at === from + 8) return { value: value * 256 + byte, end: at + 1 }
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, end: at + 1 }
  }
  return undefined
}
