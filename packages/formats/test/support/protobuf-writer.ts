// Messages of protobuf by the byte, and the descriptors that describe them.

export type ProtoField = { name: string; number: number; type: number; typeName?: string; repeated?: boolean }

/** A FileDescriptorSet with one file for each package. */
export function descriptorSet(messages: Record<string, ProtoField[]>): Uint8Array {
  const files = Object.entries(messages).map(([fullName, fields]) => {
    const dot = fullName.lastIndexOf('.')
    const message = group(4, field(1, Buffer.from(fullName.slice(dot + 1))), ...fields.map(describe))
    return group(1, field(2, Buffer.from(fullName.slice(0, dot))), message)
  })
  return new Uint8Array(Buffer.concat(files))
}

function describe({ name, number, type, typeName, repeated }: ProtoField): Uint8Array {
  return group(
    2,
    field(1, Buffer.from(name)),
    varintField(3, BigInt(number)),
    varintField(4, repeated ? 3n : 1n),
    varintField(5, BigInt(type)),
    ...(typeName ? [field(6, Buffer.from(typeName))] : []),
  )
}

/** A message within a message. */
export function group(number: number, ...parts: Uint8Array[]): Uint8Array {
  return field(number, Buffer.concat(parts))
}

export function field(number: number, bytes: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([varint(BigInt(number * 8 + 2)), varint(BigInt(bytes.length)), bytes]))
}

export function varintField(number: number, value: bigint): Uint8Array {
  return new Uint8Array(Buffer.concat([varint(BigInt(number * 8)), varint(value)]))
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  for (let left = value; ; left >>= 7n) {
    if (left < 0x80n) return Uint8Array.from([...bytes, Number(left)])
    bytes.push(Number(left & 0x7fn) | 0x80)
  }
}
