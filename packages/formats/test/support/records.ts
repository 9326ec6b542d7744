// Bytes by hand, for the small writers of the formats.

export function bytesOf(...parts: (Uint8Array | number[] | string)[]): Uint8Array {
  return Uint8Array.from(
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))),
  )
}

export function u16(value: number, little = true): Uint8Array {
  return little ? Uint8Array.of(value & 255, value >> 8) : Uint8Array.of(value >> 8, value & 255)
}

export function u32(value: number, little = true): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, little)
  return bytes
}

export function u64(value: number | bigint, little = true): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), little)
  return bytes
}
