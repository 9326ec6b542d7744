import { BlockList, isIPv4 } from 'node:net'

// Addresses that lead inside, or nowhere: everything that IANA lists as not globally reachable. Of IPv6 only what
// is global unicast is public, without the ranges that carry an IPv4 address in them.

const privateIPv4 = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  privateIPv4.addSubnet(network, bits, 'ipv4')
}

const globalIPv6 = new BlockList()
globalIPv6.addSubnet('2000::', 3, 'ipv6')

const notReallyGlobalIPv6 = new BlockList()
for (const [network, bits] of [
  ['2001::', 23], // IETF protocols, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
] as const) {
  notReallyGlobalIPv6.addSubnet(network, bits, 'ipv6')
}

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !privateIPv4.check(address, 'ipv4')
  return globalIPv6.check(address, 'ipv6') && !notReallyGlobalIPv6.check(address, 'ipv6')
}
