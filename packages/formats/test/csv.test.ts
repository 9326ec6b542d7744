import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parseDecimal } from '../src/csv/decimal.ts'
import { csv } from '../src/csv.ts'
import { HEAD_BYTES } from '../src/recording.ts'
import { bytesSource, collect } from './support/collect.ts'
import { bytesOf } from './support/records.ts'
import { messages, withstands } from './support/withstand.ts'

const scan = (...parts: Parameters<typeof bytesOf>) => collect(csv, bytesSource(bytesOf(...parts)))
const recognises = (text: string) => csv.recognises(bytesOf(text).subarray(0, HEAD_BYTES))
const codes = (result: { findings: { code: string }[] }) => result.findings.map(({ code }) => code)
const lines = (count: number, line: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `${line(n)}\n`).join('')

const EUROC_NS = 1_403_636_579_758_555_392n
const eurocHeader = '#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1]\r\n'
const euroc = (count: number) => lines(count, (n) => `${EUROC_NS + BigInt(n) * 5_000_001n},-0.099,0.14\r`)

suite('csv', () => {
  test('EuRoC is told to the nanosecond', async () => {
    const result = await scan(eurocHeader, euroc(100))
    assert.deepEqual(result, {
      timebase: { kind: 'unix' },
      originNs: EUROC_NS,
      channels: [
        {
          topic: 'table',
          schema: '',
          schemaEncoding: '',
          schemaBytes: eurocHeader.trim().length - 1,
          encoding: 'csv',
          count: 100,
          bytes: 100 * '1403636579758555392,-0.099,0.14'.length,
          first: 0,
          last: 99 * 5_000_001,
          contents: 100,
        },
      ],
      markers: [],
      findings: [],
      read: result.read,
    })
  })

  test('TUM is told as it is', async () => {
    const head = "# ground truth trajectory\n# file: 'x.bag'\n# timestamp tx ty tz qx qy qz qw\n"
    const result = await scan(
      head,
      lines(50, (n) => `13050311${String(n).padStart(2, '0')}.175304 1.3 0.6 1.6 0.6 0.6 -0.2 -0.3`),
    )
    assert.equal(result.originNs, 1_305_031_100_175_304_000n)
    assert.equal(result.channels[0]?.last, 49e9)
    assert.deepEqual(result.findings, [])
  })

  test('a spreadsheet that saved the file took the last digits, which is said', async () => {
    const result = await scan(
      eurocHeader,
      lines(20, (n) => `${(1.40363657975856 + n * 1e-11).toFixed(14)}E+018,1,2`),
      ',,\nsaved on Monday,,\n',
    )
    assert.equal(result.originNs, 1_403_636_579_758_560_000n)
    assert.equal(messages(result), 20)
    assert.deepEqual(codes(result), ['messages_undecodable', 'timestamp_invalid'])
    assert.equal(result.findings[1]?.value, 10_000)
    assert.equal(result.findings[1]?.count, 20)
  })

  test('units are told by the header, else by size, else by steps', async () => {
    const second = async (header: string, rows: string[]) => {
      const result = await scan(`${header}\n`, rows.map((row) => `${row},1\n`).join(''))
      return { kind: result.timebase.kind, first: result.originNs, last: result.channels[0]?.last }
    }
    const unix = { kind: 'unix', first: 1_700_000_000_000_000_000n, last: 1e9 }
    assert.deepEqual(await second('timestamp,x', ['1700000000000000000', '1700000001000000000']), unix)
    assert.deepEqual(await second('timestamp,x', ['1700000000000000', '1700000001000000']), unix)
    assert.deepEqual(await second('timestamp,x', ['1700000000000', '1700000001000']), unix)
    assert.deepEqual(await second('timestamp,x', ['1700000000', '1700000001']), unix)
    const relative = { kind: 'relative', first: 0n, last: 1e9 }
    assert.deepEqual(await second('t,x', ['0.0', '1.0']), relative)
    assert.deepEqual(await second('time_us,x', ['0', '1000000']), relative)
    assert.deepEqual(await second('TimeUS,x', ['0', '1000000']), relative)
    assert.deepEqual(await second('Time (ms),x', ['0', '1000']), relative)
    assert.deepEqual(await second('time,x', ['0', '1000000000']), relative)
    assert.deepEqual(await second('time,x', ['0', '500', '1000']), relative)
    assert.deepEqual(await second('time,x', ['0', '1']), relative)
  })

  test('seconds and nanoseconds in two columns are one time', async () => {
    const result = await scan(
      'seq;header.stamp.sec;header.stamp.nanosec\n',
      lines(10, (n) => `${n};1700000000;${n * 1000 + 7}`),
    )
    assert.equal(result.originNs, 1_700_000_000_000_000_007n)
    assert.equal(result.channels[0]?.last, 9000)
  })

  test('written dates, tabs, quotes and a byte order mark are understood', async () => {
    const result = await scan(
      [0xef, 0xbb, 0xbf],
      'id\tDateTime\tx\n',
      lines(10, (n) => `${n}\t"2023-11-14 22:13:2${n}.5"\t1`),
    )
    assert.equal(result.originNs, 1_700_000_000_500_000_000n)
    assert.equal(result.channels[0]?.last, 9e9)
    assert.deepEqual(result.findings, [])
  })

  test('a list of dates alone is a table', async () => {
    const result = await scan(lines(10, (n) => `2011-09-26 13:02:2${n}.964389445`))
    assert.equal(messages(result), 10)
  })

  test('decimals are exact where floats are not', () => {
    const parse = (text: string, power: number) => {
      const told = parseDecimal(Buffer.from(text), 0, text.length, power)
      return told && [told.sec, told.nano]
    }
    assert.deepEqual(parse('1403636579758555392', 0), [1_403_636_579, 758_555_392])
    assert.deepEqual(parse('1403636579.7585553921', 9), [1_403_636_579, 758_555_392])
    assert.deepEqual(parse('.5', 9), [0, 500_000_000])
    assert.deepEqual(parse('-0.25', 9), [-1, 750_000_000])
    assert.deepEqual(parse('+7', 3), [0, 7000])
    assert.deepEqual(parse('1.5e-3', 9), [0, 1_500_000])
    for (const bad of ['', '-', '.', '1.2.3', '1x', 'e5', '1e', 'nan', '9'.repeat(40), '1e300']) {
      assert.equal(parse(bad, 9), undefined, bad)
    }
  })

  test('rows out of line with all others do not move the clock', async () => {
    const rows = euroc(100).split('\n')
    rows[50] = rows[50]?.replace('14036', '94036') ?? ''
    const result = await scan(eurocHeader, rows.join('\n'))
    assert.equal(messages(result), 100)
    assert.equal(result.channels[0]?.last, 99 * 5_000_001)
    assert.deepEqual(codes(result), ['timestamp_invalid'])
  })

  test('sparse tables are read: hours may lie between two rows', async () => {
    const result = await scan(
      'time,x\n',
      lines(21, (n) => `${1_700_000_000 + n * 7200},1`),
    )
    assert.equal(messages(result), 21)
    assert.equal(result.channels[0]?.last, 20 * 7200e9)
    assert.deepEqual(result.findings, [])
  })

  test('everything before a cut is told, and a row that is cut is not', async () => {
    const row = euroc(1).length
    const bytes = bytesOf(eurocHeader, euroc(20))
    for (let at = eurocHeader.length + 3 * row; at < bytes.length; at++) {
      const result = await scan(bytes.slice(0, at))
      const behind = (at - eurocHeader.length) % row
      // From the last separator on nothing tells a whole row from a cut one.
      const isTold = behind > '1403636579758555392,-0.099,'.length - 1
      assert.equal(
        messages(result),
        Math.floor((at - eurocHeader.length) / row) + (isTold ? 1 : 0),
        `cut at ${at}`,
      )
      assert.deepEqual(codes(result), isTold || behind === 0 ? [] : ['recording_truncated'])
    }
  })

  test('zeroed blocks and joined lines are reported', async () => {
    const bytes = bytesOf(eurocHeader, euroc(200))
    bytes.fill(0, 3000, 3500)
    const zeroed = await collect(csv, bytesSource(bytes))
    assert.ok(messages(zeroed) > 180)
    assert.deepEqual(codes(zeroed), ['chunk_corrupt'])
    const joined = await scan(eurocHeader, euroc(100), '1403636580258555393,1,2,3', euroc(1))
    assert.deepEqual(codes(joined), ['messages_undecodable'])
  })

  test('lines without an end neither hang nor pile up', async () => {
    const result = await scan('time,x\n0.5,1\n1.0,2\n1.5,2\n', 'x'.repeat(5_000_000), '\n2.0,3\n')
    assert.equal(messages(result), 4)
    assert.deepEqual(codes(result), ['messages_undecodable'])
  })

  test('only a table with a time that goes forward is recognised', () => {
    assert.ok(recognises(eurocHeader + euroc(500)))
    assert.ok(recognises('timestamp,x\n1,2\n2,3\n'))
    assert.ok(recognises('# timestamp filename\n1305031102.17 rgb/1.png\n1305031102.21 rgb/2.png\n'))
    assert.ok(!recognises('index,x\n1,2\n2,3\n'))
    assert.ok(!recognises('time,x\n5,2\n4,3\n3,1\n2,1\n1,1\n'))
    assert.ok(!recognises('name,city\nAnn,Rome\nBob,Oslo\n'))
    assert.ok(!recognises('Dear reader, this is a text.\nIt has commas, too.\n'))
    assert.ok(!recognises('{"time": 1, "x": 2}\n{"time": 2, "x": 2}\n'))
    assert.ok(!recognises('1,2,3\n4,5,6\n7,8,9\n'))
    assert.ok(!recognises('timestamp,x\n'))
    assert.ok(!recognises(''))
    assert.ok(!csv.recognises(Uint8Array.from({ length: 4096 }, (_, n) => (n * 37) & 255)))
  })

  for (const [header, subject] of [
    ['#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],a_RS_S_x [m s^-2]', 'imu'],
    ['time,gyro_x,gyro_y,acc_x', 'imu'],
    ['timestamp,tx,ty,tz,qx,qy,qz,qw', 'pose'],
    ['#timestamp, p_RS_R_x [m], p_RS_R_y [m], q_RS_w [], q_RS_x []', 'pose'],
    ['time,Latitude (deg),Longitude (deg)', 'gps'],
    ['timestamp,filename', 'table'],
    ['time,accuracy,x', 'table'],
  ] as const) {
    test(`columns say what they measure: ${header} is ${subject}`, async () => {
      const row = (second: number) => `${second}${',1'.repeat(header.split(',').length - 1)}\n`
      const { channels } = await scan(
        `${header}\n`,
        row(1_700_000_000),
        row(1_700_000_001),
        row(1_700_000_002),
      )
      assert.deepEqual(
        channels.map(({ topic }) => topic),
        [subject],
      )
    })
  }

  test('no bytes and no table are told as what they are', async () => {
    assert.deepEqual(codes(await scan('')), ['recording_empty'])
    assert.deepEqual(codes(await scan('no table\n')), ['recording_empty'])
    assert.deepEqual(codes(await scan(new Uint8Array(5000))), ['recording_empty'])
  })

  test('damage of every kind is withstood', async () => {
    for (const seed of [1, 2, 3, 4, 5]) await withstands(csv, bytesOf(eurocHeader, euroc(1000)), seed)
  })
})
