// The wire format of protobuf: fields of a number and a kind, one behind the other. Nothing in it is believed before
// it was seen to fit.

export type WireField = {
  number: number
  /** A number for what has one; the bytes of what has a length. */
  value: bigint | Uint8Array
  kind: 'varint' | 'fixed64' | 'bytes' | 'fixed32'
}

export class WireFault extends Error {
  override name = 'WireFault'
}

export function* wireFields(bytes: Uint8Array): Generator<WireField> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0

  function varint(): bigint {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes[at++]
      if (byte === undefined || shift > 63n) throw new WireFault(`a number at byte ${at} does not end`)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
      shift += 7n
    }
  }

  function take(length: number): number {
    if (length > bytes.length - at) throw new WireFault(`${length} bytes at byte ${at} of ${bytes.length}`)
    at += length
    return at - length
  }

  while (at < bytes.length) {
    const tag = Number(varint())
    const number = Math.floor(tag / 8)
    switch (tag % 8) {
      case 0:
        yield { number, kind: 'varint', value: varint() }
        break
      case 1:
        yield { number, kind: 'fixed64', value: view.getBigUint64(take(8), true) }
        break
      case 2: {
        const length = Number(varint())
        const from = take(length)
        yield { number, kind: 'bytes', value: bytes.subarray(from, from + length) }
        break
      }
      case 5:
        yield { number, kind: 'fixed32', value: BigInt(view.getUint32(take(4), true)) }
        break
      default:
        throw new WireFault(`a field of kind ${tag % 8} at byte ${at}`)
    }
  }
}
