import { openGaps, reportGaps, scanFrames } from './linear/frames.ts'
import { classicFraming, classicHeader } from './pcap/classic.ts'
import { ngFraming, SECTION_HEADER } from './pcap/ng.ts'
import { openPackets } from './pcap/packets.ts'
import type { Reader } from './recording.ts'

// Captures of a network, in the old form (pcap: one header, then packets) and the new (pcapng: blocks).

export const pcap: Reader = {
  format: 'pcap',
  recognises: (head) => classicHeader(head) !== undefined || isNg(head),
  async scan(source, visitor, options) {
    const size = source.size()
    const head = await source.read(0, Math.min(size, HEADER_BYTES))
    const packets = openPackets(visitor)
    const gaps = openGaps()
    const header = classicHeader(head)
    if (header) {
      const range = { from: Math.min(size, HEADER_BYTES), to: size }
      await scanFrames(source, range, visitor, options, classicFraming(header, packets), gaps)
    } else {
      // Without a header that can be read it may still be blocks that begin further on.
      const { framing, report } = ngFraming(visitor, packets)
      await scanFrames(source, { from: 0, to: size }, visitor, options, framing, gaps)
      report()
    }
    const told = packets.end()
    reportGaps(visitor, gaps, 'capture', { size, told })
    if (head.length < HEADER_BYTES && !gaps.end) {
      const detail = `${size} bytes are too few for the header of a capture, which has ${HEADER_BYTES}`
      visitor.finding({ code: size === 0 ? 'recording_empty' : 'recording_truncated', detail })
    } else if (told === 0 && !gaps.end && gaps.inside.count === 0) {
      visitor.finding({ code: 'recording_empty', detail: `${size} bytes of capture hold no packet` })
    }
    return { kind: 'unix' }
  },
}

const HEADER_BYTES = 24

function isNg(head: Uint8Array): boolean {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  return head.length >= 12 && view.getUint32(0) === SECTION_HEADER
}
