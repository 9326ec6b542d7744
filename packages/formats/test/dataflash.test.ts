import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { dataflash } from '../src/dataflash.ts'
import { bytesSource, collect } from './support/collect.ts'
import {
  describe,
  descriptions,
  event,
  file,
  gps,
  imu,
  message,
  mode,
  row,
  units,
} from './support/dataflash-writer.ts'
import { bytesOf, u32 } from './support/records.ts'
import { messages, realFiles, withstands, withstandsCutsAndFlips } from './support/withstand.ts'

const START_US = 600_000_000
const imuAt = (n: number) => imu(START_US + n * 10_000)
const imus = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => imuAt(from + n))
const begin = descriptions()
const scan = (...parts: Uint8Array[]) => collect(dataflash, bytesSource(bytesOf(...parts)))
const codes = (result: { findings: { code: string }[] }) => result.findings.map(({ code }) => code)

suite('dataflash', () => {
  test('a log is told as it is', async () => {
    const result = await scan(
      begin,
      units(START_US, 163, 's#EEE'),
      message(START_US, 'ArduCopter'),
      imuAt(0),
      imu(START_US, 1),
      mode(START_US + 1000, 5),
      // 2023-11-14T22:13:20.500Z is week 2288, and 18 seconds later on the clock of GPS.
      gps(START_US + 500_000, 2288, 252_818_500),
      event(START_US + 600_000, 10),
      event(START_US + 700_000, 77),
      file('@SYS'),
    )
    const channel = { schemaEncoding: '', encoding: 'dataflash', count: 1, contents: 1 }
    assert.deepEqual(result, {
      timebase: { kind: 'boot', originUnixNs: 1_700_000_000_000_000_000n },
      originNs: 600_000_000_000n,
      channels: [
        { ...channel, topic: 'MSG', schema: 'MSG', schemaBytes: 21, bytes: 72, first: 0, last: 0 },
        { ...channel, topic: 'IMU', schema: 'IMU', schemaBytes: 33, bytes: 21, first: 0, last: 0 },
        { ...channel, topic: 'IMU/1', schema: 'IMU', schemaBytes: 33, bytes: 21, first: 0, last: 0 },
        { ...channel, topic: 'MODE', schema: 'MODE', schemaBytes: 33, bytes: 11, first: 1e6, last: 1e6 },
        { ...channel, topic: 'GPS', schema: 'GPS', schemaBytes: 30, bytes: 15, first: 5e8, last: 5e8 },
        {
          ...channel,
          topic: 'EV',
          schema: 'EV',
          schemaBytes: 15,
          bytes: 18,
          first: 6e8,
          last: 7e8,
          count: 2,
          contents: 2,
        },
        { ...channel, topic: 'FILE', schema: 'FILE', schemaBytes: 37, bytes: 85, first: 7e8, last: 7e8 },
      ],
      markers: [
        { t: 1e6, label: 'mode 5' },
        { t: 6e8, label: 'armed' },
        { t: 7e8, label: 'event 77' },
      ],
      findings: [],
      read: result.read,
    })
  })

  test('leap seconds are those of the day', async () => {
    const result = await scan(begin, gps(START_US, 1800, 0))
    // 2014-07-06T00:00:00 on the clock of GPS was 16 seconds ahead.
    const unixNs = BigInt(Date.UTC(2014, 6, 6) / 1000 - 16) * 1_000_000_000n
    assert.deepEqual(result.timebase, { kind: 'boot', originUnixNs: unixNs })
  })

  test('without a fix there is no date', async () => {
    const result = await scan(begin, gps(START_US, 2288, 1000, 1), gps(START_US, 0, 1000, 3))
    assert.deepEqual(result.timebase, { kind: 'boot', originUnixNs: undefined })
  })

  test('old logs count milliseconds', async () => {
    const old = describe(30, 'ATT', 'If', 'TimeMS,Roll')
    const result = await scan(begin, old, row(30, u32(7000), u32(0)), row(30, u32(7020), u32(0)))
    assert.equal(result.originNs, 7_000_000_000n)
    assert.equal(result.channels[0]?.last, 20_000_000)
  })

  test('rows with times that cannot be do not stretch the log', async () => {
    const wild = [15e18, 3e18, 1, 9e15].map((us) => imu(us))
    const result = await scan(begin, ...imus(0, 50), ...wild, ...imus(50, 100), imu(15e18))
    assert.equal(result.originNs, 600_000_000_000n)
    assert.equal(result.channels[0]?.first, 0)
    assert.equal(result.channels[0]?.last, 990_000_000)
    assert.deepEqual(codes(result), ['timestamp_invalid'])
    assert.equal(result.findings[0]?.count, 5)
  })

  test('a first row with a time that cannot be does not set the clock', async () => {
    const result = await scan(begin, imu(15e18), ...imus(0, 50))
    assert.equal(result.originNs, 600_000_000_000n)
    assert.equal(result.channels[0]?.last, 490_000_000)
  })

  test('a reboot in the middle is kept', async () => {
    const after = Array.from({ length: 30 }, (_, n) => imu(START_US / 600 + n * 10_000))
    const late = Array.from({ length: 30 }, (_, n) => imu(START_US * 3 + n * 10_000))
    const result = await scan(begin, ...late, ...after)
    assert.equal(result.channels[0]?.count, 60)
    assert.equal(result.channels[0]?.first, -1_799_000_000_000)
    assert.deepEqual(result.findings, [])
  })

  test('reading goes on behind bytes that are no rows', async () => {
    const noise = new Uint8Array(700).fill(0xa3)
    const result = await scan(begin, ...imus(0, 50), noise, ...imus(50, 100))
    assert.equal(result.channels[0]?.count, 100)
    assert.deepEqual(result.findings, [
      {
        code: 'chunk_corrupt',
        detail:
          `700 bytes in 1 places are no DataFlash records, the first at byte ${begin.length + 50 * 24}; what stood ` +
          'there is lost, reading went on behind it',
        count: 1,
        value: 700,
        t: 490_000_000,
      },
    ])
  })

  test('everything before a cut is told, wherever it is', async () => {
    const bytes = bytesOf(begin, ...imus(0, 40))
    for (let at = begin.length; at < bytes.length; at++) {
      const result = await collect(dataflash, bytesSource(bytes.slice(0, at)))
      const whole = Math.floor((at - begin.length) / 24)
      assert.equal(messages(result), whole)
      const isBetween = (at - begin.length) % 24 === 0
      assert.deepEqual(
        codes(result),
        isBetween ? (whole === 0 ? ['recording_empty'] : []) : ['recording_truncated'],
      )
    }
  })

  test('a tail of zeros is a recording cut short', async () => {
    const result = await scan(begin, ...imus(0, 10), new Uint8Array(4096))
    assert.equal(messages(result), 10)
    assert.deepEqual(codes(result), ['recording_truncated'])
  })

  test('rows without a description and descriptions that contradict themselves are reported', async () => {
    const wrong = describe(44, 'BAD', 'Qf', 'TimeUS,X')
    wrong[4] = 200
    const result = await scan(begin, wrong, imuAt(0), row(99, new Uint8Array(20)), ...imus(1, 10))
    assert.equal(messages(result), 10)
    assert.deepEqual(codes(result).sort(), ['chunk_corrupt', 'schema_conflict', 'schema_missing'])
  })

  test('no bytes, only a magic, and noise are told as what they are', async () => {
    assert.deepEqual(codes(await scan(new Uint8Array())), ['recording_empty'])
    assert.deepEqual(codes(await scan(Uint8Array.of(0xa3, 0x95, 0x80))), ['recording_truncated'])
    assert.deepEqual(codes(await scan(begin)), ['recording_empty'])
    assert.deepEqual(codes(await scan(new Uint8Array(5000).fill(0x95))), ['chunk_corrupt'])
  })

  test('only a description at the beginning is recognised', () => {
    assert.ok(dataflash.recognises(begin))
    assert.ok(!dataflash.recognises(imuAt(0)))
    assert.ok(!dataflash.recognises(new Uint8Array()))
  })

  test('damage of every kind is withstood', async () => {
    const rows = imus(0, 500).flatMap((each, n) => [
      each,
      ...(n % 40 === 0 ? [mode(START_US + n * 10_000, 3)] : []),
    ])
    for (const seed of [1, 2, 3, 4, 5]) await withstands(dataflash, bytesOf(begin, ...rows), seed)
  })

  const real = realFiles('ardupilot', '.bin')
  test('real logs are read, whole and damaged', {
    skip: real.length === 0 && 'no real recordings here',
  }, async () => {
    for (const { name, bytes } of real) {
      const result = await collect(dataflash, bytesSource(bytes()))
      assert.ok(messages(result) > 50_000, name)
      assert.deepEqual(result.findings, [], name)
      await withstandsCutsAndFlips(dataflash, bytes())
    }
  })
})
