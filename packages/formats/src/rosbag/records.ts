import { cleanText, type Window } from '../bytes.ts'
import { MAX_TOPIC_CHARACTERS } from '../recording.ts'

// A bag is a line with its version, then records. A record is a header and data, each behind its 32-bit length; the
// header is a list of fields `name=value`, each behind its length again. Inside a chunk stand records of the same kind.

export const op = {
  definition: 1,
  message: 2,
  bagHeader: 3,
  indexData: 4,
  chunk: 5,
  chunkInfo: 6,
  connection: 7,
} as const

export type Fields = Map<string, Uint8Array>
/** `end` may lie behind the end of the file: a length is only what the record says. */
export type BagRecord = {
  op: number
  fields: Fields
  at: number
  dataAt: number
  dataBytes: number
  end: number
}
/** Why there is no record; `short`: the file ends inside its header. */
export type NoRecord = { problem: 'zeros' | 'short' | 'broken'; why: string }

/** Of a header. Definitions stand in the header in bags of version 1.2. */
const MAX_HEADER_BYTES = 1 << 20
const MAX_NAME_BYTES = 64
const EQUALS = 0x3d

/** The record at `at`; its data is not read. */
export async function readRecord(window: Window, at: number): Promise<BagRecord | NoRecord> {
  const head = await window.at(at, 4)
  if (head.length < 4) return { problem: 'short', why: `${head.length} bytes are left` }
  const headerBytes = viewOf(head).getUint32(0, true)
  if (headerBytes === 0) return { problem: 'zeros', why: 'a header of 0 bytes' }
  if (headerBytes > MAX_HEADER_BYTES) return { problem: 'broken', why: `a header of ${headerBytes} bytes` }
  const bytes = await window.at(at, 8 + headerBytes)
  if (bytes.length < 8 + headerBytes) {
    return { problem: 'short', why: `a header of ${headerBytes} bytes, ${bytes.length - 4} bytes are left` }
  }
  const fields = parseFields(bytes, 4, 4 + headerBytes)
  const code = fields?.get('op')
  if (!fields || code?.length !== 1) return { problem: 'broken', why: 'a header without an op' }
  const dataBytes = viewOf(bytes).getUint32(4 + headerBytes, true)
  const dataAt = at + 8 + headerBytes
  return { op: code[0] ?? 0, fields, at, dataAt, dataBytes, end: dataAt + dataBytes }
}

/** Undefined where the fields do not fill the range exactly. The values lie in `bytes` and move with it. */
export function parseFields(bytes: Uint8Array, from: number, to: number): Fields | undefined {
  const view = viewOf(bytes)
  const fields: Fields = new Map()
  let at = from
  while (at < to) {
    if (at + 4 > to) return undefined
    const length = view.getUint32(at, true)
    at += 4
    if (length > to - at) return undefined
    const equals = bytes.subarray(at, Math.min(at + length, at + MAX_NAME_BYTES)).indexOf(EQUALS)
    if (equals < 1) return undefined
    const name = Buffer.from(bytes.buffer, bytes.byteOffset + at, equals).toString('latin1')
    fields.set(name, bytes.subarray(at + equals + 1, at + length))
    at += length
  }
  return fields
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function textOf(fields: Fields, name: string): string {
  return cleanText(fields.get(name) ?? new Uint8Array(), MAX_TOPIC_CHARACTERS)
}

export function u32Of(fields: Fields, name: string): number | undefined {
  const value = fields.get(name)
  return value?.length === 4 ? viewOf(value).getUint32(0, true) : undefined
}

/** An offset in the file. Past 2^53 it is inexact, and larger than any file. */
export function offsetOf(fields: Fields, name: string): number | undefined {
  const value = fields.get(name)
  if (value?.length !== 8) return undefined
  const view = viewOf(value)
  return view.getUint32(4, true) * 4294967296 + view.getUint32(0, true)
}

export function timeOf(fields: Fields, name: string): { sec: number; nano: number } | undefined {
  const value = fields.get(name)
  if (value?.length !== 8) return undefined
  const view = viewOf(value)
  return { sec: view.getUint32(0, true), nano: view.getUint32(4, true) }
}
