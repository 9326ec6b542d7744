import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { MAX_CHANNELS } from '../src/recording.ts'
import { ulog } from '../src/ulog.ts'
import { bytesSource, collect } from './support/collect.ts'
import { bytesOf, u64 } from './support/records.ts'
import {
  data,
  dropout,
  flags,
  format,
  header,
  parameter,
  record,
  subscribe,
  sync,
  taggedText,
  text,
} from './support/ulog-writer.ts'
import { messages, realFiles, withstands, withstandsCutsAndFlips } from './support/withstand.ts'

const START_US = 5_000_000
const imuFormat = 'imu:uint64_t timestamp;float[3] gyro;vec accel;uint8_t flag;uint8_t[3] _padding0;'
const vecFormat = 'vec:float x;float y;float z;'
const gpsFormat = 'sensor_gps:uint64_t timestamp;uint64_t time_utc_usec;uint8_t fix_type;'
const imu = (us: number, id = 1) => data(id, u64(us), new Uint8Array(25).fill(7))
const gps = (us: number, utcUs: number, fix = 3) => data(3, u64(us), u64(utcUs), [fix])
const definitions = [format(imuFormat), format(vecFormat), format(gpsFormat)]
const subscriptions = [subscribe(1, 'imu'), subscribe(2, 'imu', 1), subscribe(3, 'sensor_gps')]
const begin = bytesOf(header(START_US), flags(), ...definitions, parameter('MC_P'), ...subscriptions)

/** Ten milliseconds apart, from the start on. */
const imuAt = (n: number, id = 1) => imu(START_US + n * 10_000, id)
const imus = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => imuAt(from + n))
const scan = (...parts: Uint8Array[]) => collect(ulog, bytesSource(bytesOf(...parts)))
const codes = (result: { findings: { code: string }[] }) => result.findings.map(({ code }) => code)

suite('ulog', () => {
  test('a log is told as it is', async () => {
    const result = await scan(
      begin,
      imuAt(0),
      imuAt(0, 2),
      sync(),
      text(START_US + 5000, 'armed'),
      gps(START_US + 20_000, 1_700_000_000_020_000),
      imuAt(3),
      dropout(40),
      dropout(2),
      taggedText(START_US + 90_000, 'bye'),
    )
    const channel = { schemaEncoding: '', encoding: 'ulog' }
    assert.deepEqual(result, {
      timebase: { kind: 'boot', originUnixNs: 1_700_000_000_000_000_000n },
      originNs: 5_000_000_000n,
      channels: [
        {
          ...channel,
          topic: 'imu',
          schema: 'imu',
          schemaBytes: `${imuFormat}\n${vecFormat}`.length,
          count: 2,
          bytes: 66,
          first: 0,
          last: 30_000_000,
          contents: 2,
        },
        {
          ...channel,
          topic: 'imu/1',
          schema: 'imu',
          schemaBytes: `${imuFormat}\n${vecFormat}`.length,
          count: 1,
          bytes: 33,
          first: 0,
          last: 0,
          contents: 1,
        },
        {
          ...channel,
          topic: 'sensor_gps',
          schema: 'sensor_gps',
          schemaBytes: gpsFormat.length,
          count: 1,
          bytes: 17,
          first: 20_000_000,
          last: 20_000_000,
          contents: 1,
        },
        {
          ...channel,
          topic: 'log',
          schema: '',
          schemaBytes: 0,
          encoding: 'text',
          count: 2,
          bytes: 8,
          first: 5_000_000,
          last: 90_000_000,
          contents: 2,
        },
      ],
      markers: [],
      findings: [
        {
          code: 'messages_dropped',
          detail: 'the logger could not keep up 2 times and lost 42 ms of data',
          count: 2,
          t: 30_000_000,
          value: 42,
        },
      ],
      read: result.read,
    })
  })

  test('the stamp is found wherever the definition puts it', async () => {
    const definition = format('odd:uint8_t a;vec[2] b;uint64_t timestamp;')
    const row = data(9, [1], new Uint8Array(24), u64(START_US + 1))
    const result = await scan(header(START_US), definition, format(vecFormat), subscribe(9, 'odd'), row)
    assert.equal(result.channels[0]?.first, 1000)
  })

  test('what was kept from before the log is told at its beginning', async () => {
    const result = await scan(begin, imu(0), imu(START_US - 3_000_000), imuAt(1))
    assert.deepEqual(result.channels[0]?.first, 0)
    assert.deepEqual(result.channels[0]?.count, 3)
    assert.deepEqual(result.findings, [])
  })

  test('a topic stamped zero is told at the time of its neighbours, and reported', async () => {
    const rows = imus(0, 300).flatMap((row) => [row, imu(0, 2)])
    const result = await scan(begin, ...rows)
    assert.deepEqual(
      result.channels.slice(0, 2).map(({ count, first, last }) => ({ count, first, last })),
      [
        { count: 300, first: 0, last: 2_990_000_000 },
        { count: 300, first: 0, last: 2_990_000_000 },
      ],
    )
    assert.deepEqual(codes(result), ['timestamp_invalid'])
    assert.equal(result.findings[0]?.count, 200)
  })

  test('one stamp far ahead does not stretch the log', async () => {
    const result = await scan(
      begin,
      ...imus(0, 20),
      imu(START_US + 54 * 365 * 86_400_000_000),
      ...imus(20, 30),
    )
    assert.equal(result.channels[0]?.last, 290_000_000)
    assert.equal(result.channels[0]?.count, 31)
    assert.deepEqual(codes(result), ['timestamp_invalid'])
  })

  test('a real gap is kept', async () => {
    const later = Array.from({ length: 20 }, (_, n) => imu(START_US + 3_600_000_000 + n * 10_000))
    const result = await scan(begin, ...imus(0, 20), ...later)
    assert.equal(result.channels[0]?.last, 3_600_190_000_000)
    assert.deepEqual(result.findings, [])
  })

  test('a receiver without a fix does not tell the date, and the majority of fixes does', async () => {
    const wrong = gps(START_US, 1_500_000_000_000_000)
    const without = gps(START_US, 1_400_000_000_000_000, 1)
    const right = [1, 2, 3].map((n) => gps(START_US + n * 1000, 1_700_000_000_000_000 + n * 1000))
    const result = await scan(begin, without, without, without, without, wrong, ...right)
    assert.deepEqual(result.timebase, { kind: 'boot', originUnixNs: 1_700_000_000_000_000_000n })
  })

  test('five hundred zeroed bytes lose what stood there and nothing else', async () => {
    const rows = imus(0, 200)
    const rowBytes = rows[0]?.length ?? 0
    const bytes = bytesOf(begin, ...rows)
    const from = begin.length + 50 * rowBytes
    bytes.fill(0, from, from + 500)
    const result = await collect(ulog, bytesSource(bytes))
    const hit = Math.ceil(500 / rowBytes)
    assert.equal(result.channels[0]?.count, 200 - hit)
    assert.equal(result.channels[0]?.last, 1_990_000_000)
    assert.deepEqual(result.findings, [
      {
        code: 'chunk_corrupt',
        detail: result.findings[0]?.detail,
        count: 1,
        t: 490_000_000,
        value: result.findings[0]?.value,
      },
    ])
  })

  test('a size that lies loses its own record alone', async () => {
    const rows = imus(0, 100)
    const note = text(START_US + 500_000, 'a note')
    const bytes = bytesOf(begin, ...rows.slice(0, 50), note, ...rows.slice(50))
    const at = begin.length + bytesOf(...rows.slice(0, 50)).length
    bytes[at + 1] = 0x04
    const result = await collect(ulog, bytesSource(bytes))
    assert.equal(result.channels[0]?.count, 100)
    assert.deepEqual(codes(result), ['chunk_corrupt'])
  })

  test('everything before a cut is told, wherever it is', async () => {
    const rows = imus(0, 40)
    const bytes = bytesOf(begin, ...rows)
    const rowBytes = rows[0]?.length ?? 0
    for (let at = begin.length; at < bytes.length; at++) {
      const result = await collect(ulog, bytesSource(bytes.slice(0, at)))
      const whole = Math.floor((at - begin.length) / rowBytes)
      assert.equal(result.channels[0]?.count, whole)
      const isBetween = (at - begin.length) % rowBytes === 0
      assert.deepEqual(
        codes(result),
        isBetween ? (whole === 0 ? ['recording_empty'] : []) : ['recording_truncated'],
      )
    }
  })

  test('data appended after a crash is read behind the seam', async () => {
    const first = bytesOf(begin, ...imus(0, 10), imuAt(10).slice(0, 11))
    const bytes = bytesOf(first, ...imus(11, 20))
    bytes.set(flags([first.length]), 16)
    const result = await collect(ulog, bytesSource(bytes))
    assert.equal(result.channels[0]?.count, 19)
    assert.deepEqual(codes(result), ['chunk_corrupt'])
  })

  test('an appended offset beyond the file is reported and ignored', async () => {
    const bytes = bytesOf(begin, ...imus(0, 10))
    bytes.set(flags([2n ** 40n]), 16)
    const result = await collect(ulog, bytesSource(bytes))
    assert.equal(result.channels[0]?.count, 10)
    assert.deepEqual(codes(result), ['index_mismatch'])
  })

  test('data without a subscription and types of the future are passed over and reported', async () => {
    const result = await scan(begin, imuAt(0), imuAt(1, 77), record('Z', bytesOf('new')), imuAt(2))
    assert.equal(result.channels[0]?.count, 2)
    assert.deepEqual(codes(result), ['messages_undecodable', 'schema_missing'])
  })

  test('definitions that name themselves or contradict each other do no harm', async () => {
    const round = format('round:uint64_t timestamp;round[9999] again;')
    const other = format('imu:uint64_t timestamp;')
    const row = data(5, u64(START_US))
    const result = await scan(begin, round, other, subscribe(5, 'round'), row, imuAt(1))
    assert.deepEqual(codes(result), ['timestamp_invalid', 'schema_conflict'])
    assert.equal(messages(result), 2)
  })

  test('a clock in the header that cannot be is not believed', async () => {
    const bytes = bytesOf(begin, ...imus(0, 20))
    bytes[15] = 0x40
    const result = await collect(ulog, bytesSource(bytes))
    assert.equal(result.originNs, 5_000_000_000n)
    assert.deepEqual(codes(result), ['timestamp_invalid'])
  })

  test('no more channels than the face allows are told', async () => {
    const named = Array.from({ length: MAX_CHANNELS + 5 }, (_, id) => subscribe(id, `topic${id}`))
    const result = await scan(begin, ...named, data(MAX_CHANNELS + 4, u64(START_US)))
    assert.equal(result.channels.length, MAX_CHANNELS)
    assert.ok(codes(result).includes('messages_undecodable'))
  })

  test('no bytes, only a magic, and noise are told as what they are', async () => {
    assert.deepEqual(codes(await scan(new Uint8Array())), ['recording_empty'])
    assert.deepEqual(codes(await scan(header(1).slice(0, 7))), ['recording_truncated'])
    assert.deepEqual(codes(await scan(header(1))), ['recording_empty'])
    assert.deepEqual(codes(await scan(header(1), new Uint8Array(5000))), ['chunk_corrupt'])
  })

  test('only the magic is recognised', () => {
    assert.ok(ulog.recognises(header(1)))
    assert.ok(!ulog.recognises(new Uint8Array(16)))
    assert.ok(!ulog.recognises(new Uint8Array()))
  })

  test('damage of every kind is withstood', async () => {
    const rows = imus(0, 500).flatMap((row, n) => [row, imuAt(n, 2), ...(n % 50 === 0 ? [sync()] : [])])
    const bytes = bytesOf(begin, ...rows, gps(START_US + 5_000_000, 1_700_000_000_000_000))
    for (const seed of [1, 2, 3, 4, 5]) await withstands(ulog, bytes, seed)
  })

  const real = realFiles('ulog', '.ulg')
  test('real logs are read, whole and damaged', {
    skip: real.length === 0 && 'no real recordings here',
  }, async () => {
    // pyulog's own expectation for this file: 1:08, 4 dropouts.
    const seconds: Record<string, number> = {
      'sample.ulg': 68.993,
      'px4fork_log_0_2023-3-27-21-42-13.ulg': 10.488,
    }
    for (const { name, bytes } of real) {
      const result = await collect(ulog, bytesSource(bytes()))
      assert.ok(messages(result) > 5000, name)
      const last = Math.max(...result.channels.map((channel) => channel.last ?? 0))
      assert.ok(last < 400e9 && last > 7e9, `${name} lasts ${last / 1e9} s`)
      if (seconds[name] !== undefined) assert.equal(Math.floor(last / 1e6) / 1000, seconds[name])
      await withstandsCutsAndFlips(ulog, bytes())
    }
  })
})
