import type { Source } from './recording.ts'

const WINDOW_BYTES = 1 << 20

/**
 * A window that moves over a source, for readers that go through a file in order: small reads come out of one large
 * one. What it returns is valid until the next call.
 */
export type Window = {
  size: number
  /** Up to `length` bytes at `offset`: fewer at the end of the file, never more. */
  at(offset: number, length: number): Promise<Uint8Array>
}

export function openWindow(source: Source, windowBytes = WINDOW_BYTES): Window {
  const size = source.size()
  let start = 0
  let bytes: Uint8Array = new Uint8Array()
  return {
    size,
    async at(offset, length) {
      const wanted = Math.max(0, Math.min(length, size - offset))
      if (offset < start || offset + wanted > start + bytes.length) {
        bytes = await source.read(offset, Math.min(Math.max(wanted, windowBytes), size - offset))
        start = offset
      }
      return bytes.subarray(offset - start, offset - start + wanted)
    },
  }
}

/** A 64-bit little-endian time as nanoseconds from an origin, without making a bigint of it. */
export function relativeNs(view: DataView, offset: number, origin: { high: number; low: number }): number {
  return (
    (view.getUint32(offset + 4, true) - origin.high) * 4294967296 +
    (view.getUint32(offset, true) - origin.low)
  )
}

export function splitNs(ns: bigint): { high: number; low: number } {
  return { high: Number(ns >> 32n), low: Number(ns & 0xffffffffn) }
}

const decoder = new TextDecoder('utf-8')

/** Text from a file: whatever it is, without control characters, and not too long. */
export function cleanText(bytes: Uint8Array, maxCharacters: number): string {
  const text = decoder.decode(bytes.subarray(0, maxCharacters * 4))
  return [...text.replaceAll(/\p{Cc}/gu, '\uFFFD')].slice(0, maxCharacters).join('')
}
