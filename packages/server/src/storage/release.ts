/**
 * Gives the memory of bytes back now: the collector counts objects, of which there are few, and would let hundreds of
 * megabytes wait for its next turn. The bytes must not be looked at again. Those that share their memory with others
 * are left to the collector.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
