import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicAddress } from '../../src/webhooks/public-address.ts'

/** Both ends of every range of IPv4 that is not public, and what it is for. */
const insideIPv4 = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'shared by carriers': ['100.64.0.0', '100.127.255.255'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  'link local, clouds keep their metadata there': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'protocol assignments': ['192.0.0.0', '192.0.0.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.255'],
  '6to4 relay': ['192.88.99.1'],
  benchmarking: ['198.18.0.0', '198.19.255.255'],
  multicast: ['224.0.0.0', '239.255.255.255'],
  'reserved and broadcast': ['240.0.0.0', '255.255.255.255'],
}

const insideIPv6 = {
  unspecified: ['::'],
  loopback: ['::1'],
  'IPv4 in it, mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8'],
  'IPv4 in it, compatible': ['::127.0.0.1', '::8.8.8.8'],
  'IPv4 in it, translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::a00:1'],
  'discarded and dummy': ['100::1', '100:0:0:1::1'],
  Teredo: ['2001::1', '2001:0:7f00:1::'],
  'protocol assignments': ['2001:2::1', '2001:20::1', '2001:1ff:ffff::1'],
  documentation: ['2001:db8::1', '3fff::1', '3fff:fff:ffff::1'],
  '6to4': ['2002::1', '2002:7f00:1::', '2002:a00:1::1'],
  AS112: ['2620:4f:8000::1'],
  'segment routing': ['5f00::1'],
  'unique local': ['fc00::1', 'fd00::1', 'fdff:ffff::1'],
  'link local': ['fe80::1', 'febf::1'],
  'site local': ['fec0::1'],
  multicast: ['ff00::1', 'ff02::1'],
  'not assigned': ['4000::1', '8000::1', 'e000::1', '1fff::1'],
}

for (const [what, addresses] of [...Object.entries(insideIPv4), ...Object.entries(insideIPv6)])
  for (const address of addresses)
    test(`${address} is not public: ${what}`, () => assert.equal(isPublicAddress(address), false))

/** The neighbours of the ranges above, and some of everyday use. */
const outside = [
  ['1.0.0.0', '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '93.184.216.34'],
  ['100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0', '169.253.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0'],
  ['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0'],
  ['203.0.112.255', '203.0.114.0', '223.255.255.255'],
  ['2001:200::1', '2001:4860:4860::8888', '2001:db7:ffff::1', '2001:db9::1', '2003::1', '2400:cb00::1'],
  ['2606:2800:220:1::1', '2620:4f:7fff::1', '2620:4f:8001::1', '2a00::1', '3ffe::1', '3fff:1000::1'],
].flat()

for (const address of outside)
  test(`${address} is public`, () => assert.equal(isPublicAddress(address), true))
