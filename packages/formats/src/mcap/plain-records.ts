import { crc32 } from 'node:zlib'
import { MAX_CHUNK_BYTES } from '../recording.ts'
import type { Ledger } from './ledger.ts'
import {
  FIRST_PRIVATE_OPCODE,
  LAST_OPCODE,
  lengthAt,
  MESSAGE_FIXED_BYTES,
  MESSAGE_INDEX_OVERHEAD_BYTES,
  MESSAGE_OVERHEAD_BYTES,
  opcode,
  parseAttachmentCrc,
  RECORD_HEADER_BYTES,
  viewOf,
} from './records.ts'
import type { Scan } from './scan.ts'
import { MAX_CONTENT_BYTES } from './teller.ts'

/** How far a walk has come. */
export type Walk = {
  at: number
  /** Up to here records were understood, not only skipped by their length. */
  sureTo: number
  /** Up to here lies a chunk whose content is known to be wrong. */
  corruptTo: number
  /** How many bytes were gone back in all, to look for records in what was skipped. */
  returnedBytes: number
}

/** Why a walk over records stopped: what the walker cannot do by itself. */
export type Stop =
  | { kind: 'more'; bytes: number }
  | { kind: 'chunk' | 'dataEnd' | 'footer' }
  | { kind: 'lost'; why: string }

/** Goes over the records at hand, all outside of chunks, from `walk.at` to where bytes, sense or the range end. */
export function walkRecords(scan: Scan, ledger: Ledger, walk: Walk, bytes: Uint8Array, to: number): Stop {
  const base = walk.at
  const view = viewOf(bytes)
  for (;;) {
    const at = walk.at - base
    if (at + RECORD_HEADER_BYTES > bytes.length) return { kind: 'more', bytes: RECORD_HEADER_BYTES }
    const kind = bytes[at] ?? 0
    if (kind === opcode.chunk) return { kind: 'chunk' }
    const length = lengthAt(view, at + 1)
    const end = at + RECORD_HEADER_BYTES + length
    if (kind === 0 || base + end > to) {
      const why = `opcode ${kind} with a length of ${length} bytes`
      return { kind: 'lost', why }
    }
    const needed = at + RECORD_HEADER_BYTES + neededBytes(scan, kind, length)
    if (needed > bytes.length) return { kind: 'more', bytes: needed - at }
    if (kind === opcode.dataEnd) return { kind: 'dataEnd' }
    if (kind === opcode.footer) return { kind: 'footer' }
    const body = bytes.subarray(at + RECORD_HEADER_BYTES, Math.min(end, bytes.length))
    const understood = takeRecord(scan, ledger, walk.at, kind, body, length)
    walk.sureTo = understood ? base + end : walk.at + RECORD_HEADER_BYTES
    walk.at = base + end
  }
}

/** How much of a body must be at hand; the rest is skipped. */
function neededBytes({ full }: Scan, kind: number, length: number): number {
  switch (kind) {
    case opcode.schema:
    case opcode.channel:
      return length <= MAX_CHUNK_BYTES ? length : 0
    case opcode.message:
      return length <= MAX_CONTENT_BYTES + MESSAGE_FIXED_BYTES ? length : MESSAGE_FIXED_BYTES
    case opcode.messageIndex:
      return Math.min(length, MESSAGE_INDEX_OVERHEAD_BYTES - RECORD_HEADER_BYTES)
    case opcode.attachment:
      return full && length <= MAX_CHUNK_BYTES ? length : 0
    case opcode.dataEnd:
    case opcode.footer:
      return length
    default:
      return 0
  }
}

/** Returns whether the record was understood, not only skipped. */
function takeRecord(
  scan: Scan,
  ledger: Ledger,
  at: number,
  kind: number,
  body: Uint8Array,
  length: number,
): boolean {
  const whole = body.length === length
  switch (kind) {
    case opcode.schema:
      if (whole) scan.definitions.schema(body, at)
      return whole
    case opcode.channel:
      if (whole) scan.definitions.channel(body, at)
      return whole
    case opcode.message:
      return takeMessage(scan, at, body, length)
    case opcode.messageIndex:
      if (body.length >= 6) ledger.index(viewOf(body).getUint32(2, true))
      return false
    case opcode.attachment:
      if (scan.full && whole) checkAttachment(scan, at, body)
      return false
    default:
      if (kind > LAST_OPCODE && kind < FIRST_PRIVATE_OPCODE) noteUnknown(scan, at, kind)
      return false
  }
}

function takeMessage({ teller, notes }: Scan, at: number, body: Uint8Array, length: number): boolean {
  if (length < MESSAGE_FIXED_BYTES) {
    const detail = () =>
      `the message at byte ${at} has ${length + RECORD_HEADER_BYTES} bytes, and needs ${MESSAGE_OVERHEAD_BYTES} at least`
    notes.add({ code: 'messages_undecodable', kind: 'short', detail })
    return false
  }
  const view = viewOf(body)
  const content = body.length === length ? body.subarray(MESSAGE_FIXED_BYTES) : undefined
  const [low, high] = [view.getUint32(6, true), view.getUint32(10, true)]
  teller.message(view.getUint16(0, true), high, low, length - MESSAGE_FIXED_BYTES, content)
  return true
}

function checkAttachment({ notes }: Scan, at: number, body: Uint8Array): void {
  const expected = parseAttachmentCrc(body)
  if (expected?.crc === 0 || expected?.crc === crc32(body.subarray(0, expected?.covered))) return
  const detail = () => `the attachment at byte ${at} is not what its CRC was made of`
  notes.add({ code: 'chunk_corrupt', kind: 'attachment', detail })
}

function noteUnknown({ notes }: Scan, at: number, kind: number): void {
  const detail = () => `the record at byte ${at} has the unknown opcode ${kind} and is left out`
  notes.add({ code: 'messages_undecodable', kind: 'opcode', detail })
}
