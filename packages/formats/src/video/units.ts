import type { Window } from '../bytes.ts'

/** A frame that large is not looked into. */
const MAX_FRAME_BYTES = 16 << 20

/** Whether the units of an H.264 or H.265 frame, each behind its length, fill the frame: damage rarely leaves that so. */
export async function unitsFit(
  window: Window,
  at: number,
  bytes: number,
  lengthBytes: number,
): Promise<boolean> {
  if (bytes > MAX_FRAME_BYTES) return true
  const { buffer, byteOffset, byteLength } = await window.at(at, bytes)
  const frame = Buffer.from(buffer, byteOffset, byteLength)
  let next = 0
  while (next + lengthBytes <= frame.length) {
    const length = frame.readUIntBE(next, lengthBytes)
    if (length === 0) return false
    next += lengthBytes + length
  }
  return next === frame.length
}
