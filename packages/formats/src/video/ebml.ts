import type { Window } from '../bytes.ts'

// Matroska and WebM are elements within elements: an id of one to four bytes, a length of one to eight, content. The
// first byte of either says how many follow.

export type Element = {
  id: number
  at: number
  start: number
  /** Behind the element; infinite where the writer did not know the length when it wrote the head. */
  end: number
}

const MAX_ID_BYTES = 4
const HEAD_BYTES = 12

/** Undefined where no element stands at `at`. */
export async function readElement(window: Window, at: number): Promise<Element | undefined> {
  return parseElement(await window.at(at, HEAD_BYTES), 0, at)
}

function parseElement(bytes: Uint8Array, from: number, at: number): Element | undefined {
  const idBytes = Math.clz32(bytes[from] ?? 0) - 23
  const lengthBytes = Math.clz32(bytes[from + idBytes] ?? 0) - 23
  if (idBytes > MAX_ID_BYTES || lengthBytes > 8 || from + idBytes + lengthBytes > bytes.length)
    return undefined
  const id = uint(bytes.subarray(from, from + idBytes))
  const start = at + idBytes + lengthBytes
  const length = vint(bytes.subarray(from + idBytes, from + idBytes + lengthBytes))
  return { id, at, start, end: start + length }
}

/** A number whose first byte says how long it is; all bits set stands for "unknown". */
function vint(bytes: Uint8Array): number {
  const marker = 0x80 >> (bytes.length - 1)
  const unknown = (bytes[0] ?? 0) === marker * 2 - 1 && bytes.subarray(1).every((byte) => byte === 0xff)
  return unknown ? Number.POSITIVE_INFINITY : uint(bytes) - marker * 256 ** (bytes.length - 1)
}

export function uint(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0)
}

/** The elements in `bytes`, with offsets in it; up to the first that is none or does not fit. */
export function* elementsIn(bytes: Uint8Array): Iterable<{ id: number; content: Uint8Array }> {
  for (let at = 0; at < bytes.length; ) {
    const element = parseElement(bytes, at, at)
    if (!element || element.end > bytes.length) return
    yield { id: element.id, content: bytes.subarray(element.start, element.end) }
    at = element.end
  }
}

/** Number of the track that a block belongs to, and how many bytes that number takes. */
export function trackNumber(block: Uint8Array): { track: number; bytes: number } | undefined {
  const bytes = Math.clz32(block[0] ?? 0) - 23
  return bytes > 8 || bytes > block.length ? undefined : { track: vint(block.subarray(0, bytes)), bytes }
}
