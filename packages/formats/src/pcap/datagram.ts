// From a captured frame to the UDP datagram in it: link layer, IPv4 or IPv6, UDP.

export type Datagram = {
  port: number
  /** Of the payload, as the UDP header says. */
  bytes: number
  /** Undefined where only a piece of it is in this packet. */
  payload: Uint8Array | undefined
}

/** Undefined where the frame holds none, or a later fragment of one. */
export function datagramIn(frame: Uint8Array, linkType: number): Datagram | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const ip = ipAt(view, linkType)
  if (ip === undefined || ip >= view.byteLength) return undefined
  const version = view.getUint8(ip) >> 4
  const found = version === 4 ? udpInIpv4(view, ip) : version === 6 ? udpInIpv6(view, ip) : undefined
  if (!found || found.at + UDP_BYTES > view.byteLength) return undefined
  const bytes = view.getUint16(found.at + 4) - UDP_BYTES
  if (bytes < 0) return undefined
  const start = found.at + UDP_BYTES
  const isWhole = !found.isFragment && start + bytes <= view.byteLength
  const payload = isWhole ? frame.subarray(start, start + bytes) : undefined
  return { port: view.getUint16(found.at + 2), bytes, payload }
}

const UDP = 17
const UDP_BYTES = 8
const IPV6_BYTES = 40
const IPV6_FRAGMENT = 44
const vlanTypes = new Set([0x8100, 0x88a8, 0x9100])

/** Where the IP packet begins; the numbers are those of libpcap's list of link types. */
function ipAt(view: DataView, linkType: number): number | undefined {
  switch (linkType) {
    case 0: // BSD loopback: a family of four bytes
    case 108:
      return 4
    case 1: // Ethernet
      return behindEtherType(view, 12)
    case 12: // Raw IP
    case 14:
    case 101:
    case 228:
    case 229:
      return 0
    case 113: // Linux "any" device
      return behindEtherType(view, 14)
    case 276: // the same, second version
      return view.byteLength < 2 || !isIp(view.getUint16(0)) ? undefined : 20
    default:
      return undefined
  }
}

function behindEtherType(view: DataView, typeAt: number): number | undefined {
  for (let at = typeAt; at + 2 <= view.byteLength; at += 4) {
    const type = view.getUint16(at)
    if (isIp(type)) return at + 2
    if (!vlanTypes.has(type)) return undefined
  }
  return undefined
}

function isIp(etherType: number): boolean {
  return etherType === 0x0800 || etherType === 0x86dd
}

function udpInIpv4(view: DataView, ip: number) {
  if (ip + 20 > view.byteLength || view.getUint8(ip + 9) !== UDP) return undefined
  const fragment = view.getUint16(ip + 6)
  // Only the first fragment has the UDP header.
  if ((fragment & 0x1fff) !== 0) return undefined
  return { at: ip + (view.getUint8(ip) & 0x0f) * 4, isFragment: (fragment & 0x2000) !== 0 }
}

function udpInIpv6(view: DataView, ip: number) {
  if (ip + IPV6_BYTES + 8 > view.byteLength) return undefined
  const next = view.getUint8(ip + 6)
  if (next === UDP) return { at: ip + IPV6_BYTES, isFragment: false }
  if (next !== IPV6_FRAGMENT || view.getUint8(ip + IPV6_BYTES) !== UDP) return undefined
  return view.getUint16(ip + IPV6_BYTES + 2) >> 3 === 0
    ? { at: ip + IPV6_BYTES + 8, isFragment: true }
    : undefined
}
