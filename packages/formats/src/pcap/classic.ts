import type { Framing } from '../linear/frames.ts'
import type { Packets } from './packets.ts'

// The old form: a header of 24 bytes, then packets of `uint32 seconds, fraction, captured, on the wire`, in the byte
// order of the machine that captured.

export type ClassicHeader = { little: boolean; fractionNs: 1 | 1000; linkType: number }

const magics = new Map<number, Pick<ClassicHeader, 'little' | 'fractionNs'>>([
  [0xa1b2c3d4, { little: false, fractionNs: 1000 }],
  [0xd4c3b2a1, { little: true, fractionNs: 1000 }],
  [0xa1b23c4d, { little: false, fractionNs: 1 }],
  [0x4d3cb2a1, { little: true, fractionNs: 1 }],
])
const PACKET_HEAD_BYTES = 16
/** libpcap's own limit. */
const MAX_PACKET_BYTES = 262_144

export function classicHeader(head: Uint8Array): ClassicHeader | undefined {
  if (head.length < 4) return undefined
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const magic = magics.get(view.getUint32(0))
  // The upper bits of the link type are flags about checksums.
  return magic && { ...magic, linkType: head.length < 24 ? 0 : view.getUint32(20, magic.little) & 0xffff }
}

export function classicFraming({ little, fractionNs, linkType }: ClassicHeader, packets: Packets): Framing {
  return {
    headBytes: PACKET_HEAD_BYTES,
    now: packets.now,

    measure({ view }, at, strict) {
      const fraction = view.getUint32(at + 4, little)
      const captured = view.getUint32(at + 8, little)
      const wire = view.getUint32(at + 12, little)
      if (captured === 0 || captured > MAX_PACKET_BYTES || fraction * fractionNs >= 1e9) return 0
      if (strict && (wire < captured || wire > MAX_PACKET_BYTES)) return 0
      return PACKET_HEAD_BYTES + captured
    },

    record({ bytes, view, offset }, at, length) {
      packets.tell({
        frame: bytes.subarray(at + PACKET_HEAD_BYTES, at + length),
        linkType,
        time: { sec: view.getUint32(at, little), nano: view.getUint32(at + 4, little) * fractionNs },
        wireBytes: view.getUint32(at + 12, little),
        at: offset + at,
      })
    },
  }
}
