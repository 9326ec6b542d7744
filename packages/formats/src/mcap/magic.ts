import type { Notes } from '../notes.ts'
import { MAGIC } from './records.ts'

/** What a transfer in text mode makes of the line end in the magic, which stands there to tell it. */
const LF_ONLY = Uint8Array.of(...MAGIC.subarray(0, 6), 0x0a)
const CR_DOUBLED = Uint8Array.of(...MAGIC.subarray(0, 6), 0x0d, 0x0d, 0x0a)

/** How long the magic is that the bytes begin with; 0 if they do not. */
export function magicBytes(bytes: Uint8Array): number {
  const found = [MAGIC, LF_ONLY, CR_DOUBLED].find((magic) => magic.every((byte, n) => bytes[n] === byte))
  return found?.length ?? 0
}

/** Returns where records begin. */
export function checkMagic(head: Uint8Array, notes: Notes): number {
  const length = magicBytes(head)
  if (length === MAGIC.length || head.length < MAGIC.length) return Math.min(head.length, MAGIC.length)
  const reason =
    length > 0
      ? 'the line end in it was changed, as a transfer in text mode does, and so were those in the content'
      : 'it is damaged, or this is no MCAP file'
  const detail = () =>
    `the file begins with ${hex(head)} where the magic ${hex(MAGIC)} is expected: ${reason}`
  notes.add({ code: 'chunk_corrupt', kind: 'magic', detail })
  return length > 0 ? length : MAGIC.length
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, MAGIC.length)).toString('hex')
}
