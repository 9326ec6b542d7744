import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pcap } from '../src/pcap.ts'
import { MAX_CHANNELS } from '../src/recording.ts'
import { bytesSource, collect } from './support/collect.ts'
import {
  big,
  block,
  captureInterface,
  enhanced,
  ethernet,
  header,
  little,
  packet,
  section,
  simple,
  statistics,
  udp,
  udp6,
} from './support/pcap-writer.ts'
import { bytesOf } from './support/records.ts'
import { messages, realFiles, withstands, withstandsCutsAndFlips } from './support/withstand.ts'

const SEC = 1_700_000_000
const velodyne = ethernet(udp(2368, new Uint8Array(1206).fill(1)))
const small = ethernet(udp(5000, new Uint8Array(20).fill(7)))
const arp = ethernet(new Uint8Array(28), { type: 0x0806 })
const smalls = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => packet(little, SEC, (from + n) * 1000, small))
const scan = (...parts: Uint8Array[]) => collect(pcap, bytesSource(bytesOf(...parts)))
const codes = (result: { findings: { code: string }[] }) => result.findings.map(({ code }) => code)
const topics = (result: { channels: { topic: string; schema: string; count: number }[] }) =>
  Object.fromEntries(result.channels.map(({ topic, schema, count }) => [topic, `${count} ${schema}`.trim()]))

suite('pcap', () => {
  test('a capture is told as it is, in both byte orders', async () => {
    for (const order of [little, big]) {
      const result = await scan(
        header(order),
        packet(order, SEC, 999_999, velodyne),
        packet(order, SEC + 1, 1, small),
        packet(order, SEC + 1, 2, arp),
      )
      const channel = { schemaEncoding: '', encoding: 'pcap', schemaBytes: 0, count: 1 }
      assert.deepEqual(result, {
        timebase: { kind: 'unix' },
        originNs: 1_700_000_000_999_999_000n,
        channels: [
          {
            ...channel,
            topic: 'udp/2368',
            schema: 'velodyne_data',
            bytes: 1206,
            first: 0,
            last: 0,
            contents: 1,
          },
          { ...channel, topic: 'udp/5000', schema: '', bytes: 20, first: 2000, last: 2000, contents: 1 },
          { ...channel, topic: 'other', schema: '', bytes: 42, first: 3000, last: 3000, contents: 0 },
        ],
        markers: [],
        findings: [],
        read: result.read,
      })
    }
  })

  test('nanoseconds are kept', async () => {
    const result = await scan(header(little, { nanoseconds: true }), packet(little, SEC, 123_456_789, small))
    assert.equal(result.originNs, 1_700_000_000_123_456_789n)
  })

  test('the new form is told like the old one, in both byte orders and both units', async () => {
    for (const order of [little, big]) {
      const result = await scan(
        section(order),
        captureInterface(order),
        captureInterface(order, { resolution: 9, linkType: 101 }),
        enhanced(order, BigInt(SEC) * 1_000_000n + 5n, small),
        enhanced(order, BigInt(SEC) * 1_000_000_000n + 6001n, udp(5001, new Uint8Array(9)), { from: 1 }),
        block(order, 4, new Uint8Array(8)),
        simple(order, small),
        statistics(order, 12),
      )
      assert.equal(result.originNs, 1_700_000_000_000_005_000n)
      assert.deepEqual(topics(result), { 'udp/5000': '2', 'udp/5001': '1' })
      assert.equal(result.channels[1]?.first, 1001)
      assert.deepEqual(codes(result), ['messages_dropped', 'timestamp_invalid'])
      assert.equal(result.findings[0]?.value, 12)
    }
  })

  test('lidars are known by port, size and first bytes', async () => {
    const frames = [
      udp(8308, new Uint8Array(512)),
      udp(7502, new Uint8Array(8448)),
      udp(7503, new Uint8Array(48)),
      udp(2368, bytesOf([0xee, 0xff], new Uint8Array(1078))),
    ]
    const result = await scan(
      header(little),
      ...frames.map((frame, n) => packet(little, SEC, n, ethernet(frame))),
    )
    assert.deepEqual(topics(result), {
      'udp/8308': '1 velodyne_position',
      'udp/7502': '1 ouster_lidar',
      'udp/7503': '1 ouster_imu',
      'udp/2368': '1 hesai_data',
    })
  })

  test('VLANs, IPv6, Linux captures and raw IP lead to the same port', async () => {
    const payload = new Uint8Array(4)
    const frames = {
      1: [ethernet(udp(6000, payload), { vlan: true }), ethernet(udp6(6000, payload), { type: 0x86dd })],
      113: [bytesOf(new Uint8Array(14), [0x08, 0x00], udp(6000, payload))],
      276: [bytesOf([0x08, 0x00], new Uint8Array(18), udp(6000, payload))],
      101: [udp(6000, payload), udp6(6000, payload)],
      0: [bytesOf([2, 0, 0, 0], udp(6000, payload))],
    }
    for (const [linkType, list] of Object.entries(frames)) {
      const file = [
        header(little, { linkType: Number(linkType) }),
        ...list.map((frame, n) => packet(little, SEC, n, frame)),
      ]
      assert.deepEqual(topics(await scan(...file)), { 'udp/6000': String(list.length) }, linkType)
    }
  })

  test('a datagram in fragments is one message of its port', async () => {
    const first = ethernet(udp(7502, new Uint8Array(1472), { fragment: 0x2000, total: 6464 }))
    const next = ethernet(udp(7502, new Uint8Array(1472), { fragment: 0x20b9 }))
    const result = await scan(
      header(little),
      ...[first, next, next].map((frame, n) => packet(little, SEC, n, frame)),
    )
    assert.deepEqual(topics(result), { 'udp/7502': '1 ouster_lidar', other: '2' })
    assert.equal(result.channels[0]?.bytes, 6464)
    assert.equal(result.channels[0]?.contents, 0)
  })

  test('packets that the capture cut are counted and reported', async () => {
    const result = await scan(header(little), packet(little, SEC, 1, velodyne.slice(0, 96), velodyne.length))
    assert.deepEqual(topics(result), { 'udp/2368': '1 velodyne_data' })
    assert.equal(result.channels[0]?.contents, 0)
    assert.deepEqual(codes(result), ['messages_undecodable'])
    assert.equal(result.findings[0]?.value, velodyne.length - 96)
  })

  test('everything before a cut is told, wherever it is', async () => {
    const length = smalls(0, 1)[0]?.length ?? 0
    const bytes = bytesOf(header(little), ...smalls(0, 20))
    for (let at = 24; at < bytes.length; at++) {
      const result = await scan(bytes.slice(0, at))
      const whole = Math.floor((at - 24) / length)
      assert.equal(messages(result), whole)
      const isBetween = (at - 24) % length === 0
      assert.deepEqual(
        codes(result),
        isBetween ? (whole === 0 ? ['recording_empty'] : []) : ['recording_truncated'],
      )
    }
  })

  test('a length that lies loses its own packet alone', async () => {
    for (const lie of [0, 60, 70, 5000, 2 ** 31]) {
      const bytes = bytesOf(header(little), ...smalls(0, 50))
      const length = smalls(0, 1)[0]?.length ?? 0
      new DataView(bytes.buffer).setUint32(24 + 20 * length + 8, lie, true)
      const result = await scan(bytes)
      assert.ok(messages(result) >= 49, `${messages(result)} messages with a length of ${lie}`)
      assert.ok(messages(result) <= 50)
      assert.ok(codes(result).includes('chunk_corrupt'), String(lie))
    }
  })

  test('blocks of the new form that lie are skipped', async () => {
    const packets = Array.from({ length: 50 }, (_, n) =>
      enhanced(little, BigInt(SEC) * 1_000_000n + BigInt(n), small),
    )
    const begin = bytesOf(section(little), captureInterface(little))
    for (const lie of [0, 11, 100, 2 ** 31]) {
      const bytes = bytesOf(begin, ...packets)
      new DataView(bytes.buffer).setUint32(begin.length + 20 * (packets[0]?.length ?? 0) + 4, lie, true)
      const result = await scan(bytes)
      assert.equal(messages(result), 49, String(lie))
      assert.deepEqual(codes(result), ['chunk_corrupt'])
    }
  })

  test('packets of an interface that was not described are reported', async () => {
    const result = await scan(
      section(little),
      captureInterface(little),
      enhanced(little, 5n, small, { from: 7 }),
    )
    assert.deepEqual(codes(result), ['schema_missing', 'recording_empty'])
  })

  test('no more channels than the face allows are told', async () => {
    const many = Array.from({ length: MAX_CHANNELS + 50 }, (_, port) =>
      packet(little, SEC, port, ethernet(udp(port, new Uint8Array(1)))),
    )
    const result = await scan(header(little), ...many)
    assert.equal(result.channels.length, MAX_CHANNELS)
    assert.equal(result.findings[0]?.count, 50)
    assert.deepEqual(codes(result), ['messages_undecodable'])
  })

  test('no bytes, only a header, and noise are told as what they are', async () => {
    assert.deepEqual(codes(await scan(new Uint8Array())), ['recording_empty'])
    assert.deepEqual(codes(await scan(header(little).slice(0, 4))), ['recording_truncated'])
    assert.deepEqual(codes(await scan(header(little))), ['recording_empty'])
    assert.deepEqual(codes(await scan(header(little), new Uint8Array(5000))), ['chunk_corrupt'])
    assert.deepEqual(codes(await scan(section(little).slice(0, 12))), ['recording_truncated'])
  })

  test('only the magics are recognised', () => {
    for (const order of [little, big]) {
      assert.ok(pcap.recognises(header(order)))
      assert.ok(pcap.recognises(header(order, { nanoseconds: true })))
      assert.ok(pcap.recognises(section(order)))
    }
    assert.ok(!pcap.recognises(new Uint8Array(64)))
    assert.ok(!pcap.recognises(new Uint8Array()))
  })

  test('damage of every kind is withstood', async () => {
    const old = bytesOf(header(little), ...smalls(0, 300))
    const packets = Array.from({ length: 300 }, (_, n) =>
      enhanced(big, BigInt(SEC) * 1_000_000n + BigInt(n), small),
    )
    const fresh = bytesOf(section(big), captureInterface(big), ...packets)
    for (const seed of [1, 2, 3, 4, 5]) {
      await withstands(pcap, old, seed)
      // A packet block (6) with one bit turned is a block of names (4).
      await withstands(pcap, fresh, seed, { silent: 1 })
    }
  })

  const real = realFiles('pcap', '.pcap')
  test('real captures are read, whole and damaged', {
    skip: real.length === 0 && 'no real recordings here',
  }, async () => {
    for (const { name, bytes } of real) {
      const result = await collect(pcap, bytesSource(bytes()))
      assert.ok(messages(result) > 5, name)
      assert.deepEqual(result.findings, [], name)
      await withstandsCutsAndFlips(pcap, bytes())
    }
  })
})
