import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parquet } from '../src/parquet.ts'
import { bytesSource, collect } from './support/collect.ts'
import { passesOnFaults } from './support/failing.ts'
import { join, text } from './support/film.ts'
import {
  type Encoding,
  list,
  parquetFile,
  struct,
  type TestColumn,
  type TestTable,
  timestampMicros,
  timestampMillis,
  timestampNanos,
  u32le,
  varint,
} from './support/parquet-writer.ts'
import { realFiles, withstands, withstandsCutsAndFlips } from './support/withstand.ts'

const scan = (bytes: Uint8Array, full = false) => collect(parquet, bytesSource(bytes), { full })
const codes = ({ findings }: { findings: { code: string }[] }) => findings.map(({ code }) => code)
const range = <T>(count: number, one: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => one(index))
const START_NS = 1_700_000_000_123_456_789n

/** Episodes of so many frames each, at 30 a second. */
function dataset(...lengths: number[]): TestTable {
  const frames = lengths.flatMap((length) => range(length, (frame) => frame))
  const episodes = lengths.flatMap((length, episode) => range(length, () => episode))
  const columns: TestColumn[] = [
    { name: 'observation.state', kind: 'FLOAT', values: frames.map((frame) => [frame, 1, 2]) },
    { name: 'action', kind: 'FLOAT', values: frames.map((frame) => [frame, 1]) },
    {
      name: 'timestamp',
      kind: 'FLOAT',
      values: frames.map((frame) => frame / 30),
      encoding: 'RLE_DICTIONARY',
    },
    { name: 'frame_index', kind: 'INT64', values: frames },
    { name: 'episode_index', kind: 'INT64', values: episodes, encoding: 'RLE_DICTIONARY' },
    { name: 'task_index', kind: 'INT64', values: frames.map(() => 0) },
  ]
  return { columns }
}

function timed(
  kind: TestColumn['kind'],
  values: TestColumn['values'],
  more: Partial<TestColumn> = {},
): TestTable {
  const value: TestColumn = { name: 'value', kind: 'DOUBLE', values: values.map((_, index) => index) }
  return { columns: [value, { name: 'timestamp', kind, values, ...more }] }
}

suite('parquet: LeRobot', () => {
  test('observations and actions are channels, episodes are markers', async () => {
    const result = await scan(parquetFile({ ...dataset(60, 30), rowsPerPage: 25 }))
    const channel = {
      schema: 'float[]',
      schemaEncoding: '',
      encoding: 'parquet',
      declaredRateHz: 30,
      timesComputed: true,
      schemaBytes: 0,
      count: 90,
      first: 0,
      last: 2_966_666_670,
      contents: 0,
    }
    assert.deepEqual(
      { ...result, read: 0 },
      {
        timebase: { kind: 'relative', originUnixNs: undefined },
        originNs: 0n,
        channels: [
          { ...channel, topic: 'observation.state', bytes: result.channels[0]?.bytes },
          { ...channel, topic: 'action', bytes: result.channels[1]?.bytes },
        ],
        markers: [
          { t: 0, label: 'episode 0' },
          { t: 2_000_000_031, label: 'episode 1' },
        ],
        findings: [],
        read: 0,
      },
    )
    const [state, action] = result.channels
    assert.ok((state?.bytes ?? 0) > 90 * 12 && (state?.bytes ?? 0) < 90 * 20)
    assert.ok((action?.bytes ?? 0) > 90 * 8 && (action?.bytes ?? 0) < 90 * 16)
  })

  test('only the columns of times are read', async () => {
    const images = {
      name: 'observation.images.top',
      kind: 'DOUBLE' as const,
      values: range(500, () => range(200, () => 7)),
    }
    const table = dataset(500)
    const bytes = parquetFile({ ...table, columns: [images, ...table.columns] })
    const { read, channels } = await scan(bytes)
    assert.equal(channels.length, 3)
    assert.ok(bytes.length > 800_000 && read.bytes < 20_000, `${read.bytes} of ${bytes.length} bytes`)
  })

  test('row groups and pages of any size tell the same', async () => {
    const { read: _, ...expected } = await scan(parquetFile(dataset(100)))
    for (const split of [{ rowsPerGroup: 17 }, { rowsPerPage: 3 }, { rowsPerGroup: 40, rowsPerPage: 7 }]) {
      const result = await scan(parquetFile({ ...dataset(100), ...split }))
      assert.deepEqual(
        result.channels.map(({ count, last }) => [count, last]),
        expected.channels.map(({ count, last }) => [count, last]),
      )
      assert.deepEqual(result.findings, [])
    }
  })

  test('frames that frame_index leaves out are dropped messages', async () => {
    const table = dataset(60)
    const frames = table.columns.find(({ name }) => name === 'frame_index')
    assert.ok(frames)
    frames.values = range(60, (frame) => (frame < 40 ? frame : frame + 5))
    const { findings } = await scan(parquetFile(table))
    assert.deepEqual(
      findings.map(({ code, count, value, t }) => [code, count, value, t]),
      [['messages_dropped', 1, 5, 1_333_333_373]],
    )
  })

  test('a page of times that is damaged loses its rows, and no others', async () => {
    const bytes = parquetFile({ ...dataset(100), rowsPerGroup: 50, checksums: true })
    const result = await scan(bytes)
    assert.deepEqual(codes(result), [])
    const at = Buffer.from(bytes).indexOf(Buffer.from(new Float32Array([49 / 30]).buffer))
    const damaged = bytes.slice()
    damaged[at] = 255
    const found = await scan(damaged)
    assert.equal(found.channels[0]?.count, 50)
    assert.deepEqual(
      found.findings.map(({ code, value }) => [code, value]),
      [['chunk_corrupt', 50]],
    )
  })
})

suite('parquet: tables', () => {
  test('a column of the type timestamp gives the times, in any unit', async () => {
    for (const [logical, unitNs] of [
      [timestampMillis, 1_000_000n],
      [timestampMicros, 1000n],
      [timestampNanos, 1n],
    ] as const) {
      const first = START_NS / unitNs
      const table = timed(
        'INT64',
        range(100, (row) => first + BigInt(row) * (10_000_000n / unitNs)),
        { logical },
      )
      const { originNs, timebase, channels, findings } = await scan(parquetFile(table))
      assert.equal(originNs, first * unitNs)
      assert.deepEqual(timebase, { kind: 'unix' })
      assert.deepEqual(
        channels.map(({ topic, encoding, count, first, last }) => [topic, encoding, count, first, last]),
        [['table', 'parquet', 100, 0, 990_000_000]],
      )
      assert.deepEqual(findings, [])
    }
  })

  test('numbers are times by their name, in the unit of their name or size', async () => {
    const cases: [string, TestColumn['kind'], (row: number) => number | bigint, bigint][] = [
      ['timestamp', 'INT64', (row) => START_NS + BigInt(row) * 10_000_000n, START_NS],
      ['time', 'INT64', (row) => START_NS / 1000n + BigInt(row) * 10_000n, (START_NS / 1000n) * 1000n],
      [
        'ts',
        'INT64',
        (row) => START_NS / 1_000_000n + BigInt(row) * 10n,
        (START_NS / 1_000_000n) * 1_000_000n,
      ],
      ['time', 'DOUBLE', (row) => 1_700_000_000.25 + row / 100, 1_700_000_000_250_000_000n],
      ['elapsed_time_ms', 'INT64', (row) => 5000 + row * 10, 5_000_000_000n],
      ['time [us]', 'INT64', (row) => 5_000_000 + row * 10_000, 5_000_000_000n],
      ['t', 'FLOAT', (row) => 1 + row / 100, 1_000_000_000n],
      ['timestamp', 'INT64', (row) => 5_000_000_000 + row * 10_000_000, 5_000_000_000n],
      ['log_time', 'INT96', (row) => START_NS + BigInt(row) * 10_000_000n, START_NS],
    ]
    for (const [name, kind, value, origin] of cases) {
      const { originNs, channels, timebase } = await scan(
        parquetFile(timed(kind, range(100, value), { name })),
      )
      assert.equal(originNs, origin, name)
      assert.equal(channels[0]?.count, 100)
      assert.ok(Math.abs((channels[0]?.last ?? 0) - 990_000_000) < 1000, `${name}: ${channels[0]?.last}`)
      assert.equal(timebase.kind, origin > 10n ** 17n ? 'unix' : 'relative')
    }
  })

  test('every encoding, compression and version of pages is read', async () => {
    const values = range(1000, (row) => START_NS + BigInt(row) * 10_000_000n + BigInt((row * 7919) % 1000))
    const encodings: Encoding[] = ['PLAIN', 'RLE_DICTIONARY', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT']
    const codecs = ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4_RAW'] as const
    for (const encoding of encodings) {
      for (const codec of codecs) {
        for (const version of [1, 2] as const) {
          const table = {
            ...timed('INT64', values, { encoding, nullable: true }),
            codec,
            version,
            rowsPerPage: 300,
          }
          const { channels, findings } = await scan(parquetFile({ ...table, checksums: true }), true)
          const name = `${encoding} ${codec} ${version}`
          assert.deepEqual(findings, [], name)
          assert.deepEqual([channels[0]?.count, channels[0]?.last], [1000, 9_990_000_081], name)
        }
      }
    }
  })

  test('rows without a time are counted and not told', async () => {
    const values = range(100, (row) => (row % 10 === 3 ? null : START_NS + BigInt(row)))
    for (const version of [1, 2] as const) {
      const { channels, findings } = await scan(
        parquetFile({ ...timed('INT64', values, { nullable: true }), version }),
      )
      assert.deepEqual([channels[0]?.count, channels[0]?.last], [90, 99])
      assert.deepEqual(
        findings.map(({ code, count }) => [code, count]),
        [['timestamp_invalid', 10]],
      )
    }
    const nan = await scan(
      parquetFile(timed('DOUBLE', [1, Number.NaN, 2, Number.POSITIVE_INFINITY, 1e300, 3])),
    )
    assert.deepEqual([nan.channels[0]?.count, nan.findings[0]?.count], [3, 3])
  })

  test('a table without a column of times tells no messages, and says so', async () => {
    const columns: TestColumn[] = [{ name: 'task_index', kind: 'INT64', values: range(46, (row) => row) }]
    const { channels, findings, originNs } = await scan(parquetFile({ columns }))
    assert.deepEqual(
      channels.map(({ topic, count }) => [topic, count]),
      [['table', 0]],
    )
    assert.equal(originNs, undefined)
    assert.deepEqual(
      findings.map(({ code, count, channel }) => [code, count, channel]),
      [['timestamp_invalid', 46, 0]],
    )
    assert.match(findings[0]?.detail ?? '', /task_index/)
  })

  test('a table without rows is empty', async () => {
    assert.deepEqual(codes(await scan(parquetFile(timed('INT64', [])))), ['recording_empty'])
    assert.deepEqual(codes(await scan(new Uint8Array())), ['recording_empty'])
  })

  test('rows that the footer claims and the pages do not have are a mismatch', async () => {
    const table = timed(
      'INT64',
      range(100, (row) => START_NS + BigInt(row)),
    )
    const total = await scan(parquetFile({ ...table, statedRows: 2 ** 40 }))
    assert.deepEqual([total.channels[0]?.count, codes(total)], [100, ['index_mismatch']])
    const groups = await scan(parquetFile({ ...table, statedRows: 2 ** 40, statedGroupRows: 2 ** 40 }))
    assert.deepEqual([groups.channels[0]?.count, codes(groups)], [100, ['index_mismatch']])
  })

  test('without its footer a table is truncated', async () => {
    const bytes = parquetFile(
      timed(
        'INT64',
        range(100, (row) => START_NS + BigInt(row)),
      ),
    )
    for (const length of [4, 100, 500, bytes.length - 1]) {
      assert.deepEqual(codes(await scan(bytes.slice(0, length))), ['recording_truncated'])
    }
  })

  test('an encrypted table is one that cannot be decoded', async () => {
    const result = await scan(join(text('PARE'), new Uint8Array(100), text('PARE')))
    assert.deepEqual(codes(result), ['messages_undecodable'])
  })
})

suite('parquet: damage', () => {
  const withFooter = (footer: Uint8Array) => join(text('PAR1'), footer, u32le(footer.length), text('PAR1'))

  test('lists in the footer that claim more than it holds do not take memory', async () => {
    let nested: Uint8Array = new Uint8Array()
    for (let depth = 0; depth < 100; depth++)
      nested = join(new Uint8Array([0xf9]), varint(30_000_000n), nested)
    for (const footer of [
      struct([2, 'list', nested]),
      struct([2, 'list', list('struct', [], 2 ** 31 - 1)]),
      struct([2, 'list', list('binary', [varint(2n ** 31n)], 3)]),
      new Uint8Array(50_000).fill(0x1c),
      struct([2, 'list', list('struct', [new Uint8Array(8_000_000)], 8_000_000)]),
    ]) {
      assert.deepEqual(codes(await scan(withFooter(footer))), ['chunk_corrupt'])
    }
  })

  test('a footer longer than the file, and one of nothing, are damaged', async () => {
    assert.deepEqual(
      codes(await scan(join(text('PAR1'), new Uint8Array(90), u32le(2 ** 31), text('PAR1')))),
      ['chunk_corrupt'],
    )
    assert.deepEqual(codes(await scan(withFooter(struct()))), ['chunk_corrupt'])
  })

  test('runs that claim more values than the page has rows do not take memory', async () => {
    const values = range(64, (row) => START_NS + BigInt(row % 2))
    const bytes = parquetFile(timed('INT64', values, { encoding: 'RLE_DICTIONARY' }))
    // The page of the dictionary's entries: one bit each, eight groups of eight.
    const at = Buffer.from(bytes).indexOf(Buffer.from([1, 17, 0xaa]))
    assert.ok(at > 0)
    for (const run of [
      [0xfe, 0xff, 0xff, 0xff, 0x0f],
      [0xff, 0xff, 0xff, 0xff, 0x0f],
      [0, 0, 0, 0, 0],
    ]) {
      const damaged = bytes.slice()
      damaged.set(run, at + 1)
      const before = process.memoryUsage().rss
      await scan(damaged)
      assert.ok(process.memoryUsage().rss - before < 200 * 2 ** 20)
    }
  })

  test('differences whose blocks lie do not hang', async () => {
    const values = range(200, (row) => START_NS + BigInt(row * row))
    const bytes = parquetFile(timed('INT64', values, { encoding: 'DELTA_BINARY_PACKED' }))
    const at = Buffer.from(bytes).indexOf(Buffer.from([0x80, 0x01, 0x04]))
    assert.ok(at > 0)
    for (const lie of [
      [0, 0, 4],
      [0x80, 1, 0],
      [0x80, 1, 127],
      [0xff, 0xff, 0xff, 0xff, 0x0f],
    ]) {
      const damaged = bytes.slice()
      damaged.set(lie, at)
      const result = await scan(damaged)
      assert.deepEqual([result.channels[0]?.count, codes(result)], [0, ['chunk_corrupt']])
    }
  })

  test('read in full, damage in columns that are not times is found', async () => {
    const table = timed(
      'INT64',
      range(100, (row) => START_NS + BigInt(row)),
    )
    const bytes = parquetFile({ ...table, checksums: true })
    const damaged = bytes.slice()
    damaged[200] = (damaged[200] ?? 0) ^ 1
    assert.deepEqual(codes(await scan(damaged)), [])
    const result = await scan(damaged, true)
    assert.deepEqual([result.channels[0]?.count, codes(result)], [100, ['chunk_corrupt']])
    const zipped = parquetFile({ ...table, codec: 'ZSTD' })
    zipped.fill(0, 40, 60)
    assert.deepEqual(codes(await scan(zipped, true)), ['chunk_corrupt'])
  })

  test('what is no fault of the file is passed on', async () => {
    await passesOnFaults(parquet, parquetFile(dataset(10)))
  })

  test('no damage makes it throw, hang, or lose rows in silence', async () => {
    const table = timed(
      'INT64',
      range(2000, (row) => START_NS + BigInt(row * 1000)),
      { nullable: true },
    )
    const files = [
      parquetFile({
        ...dataset(300, 200),
        rowsPerGroup: 150,
        rowsPerPage: 40,
        codec: 'SNAPPY',
        checksums: true,
      }),
      parquetFile({ ...table, rowsPerPage: 500, codec: 'ZSTD', version: 2, checksums: true }),
      parquetFile({ ...table, rowsPerPage: 500 }),
    ]
    for (const [seed, bytes] of files.entries()) await withstands(parquet, bytes, seed)
  })
})

suite('parquet: real files', () => {
  const real = [
    ...realFiles('parquet', '.parquet'),
    ...realFiles('lerobot/rerun/v30_apple_storage/data/chunk-000', '.parquet'),
    ...realFiles('lerobot/rerun/v30_apple_storage/meta', '.parquet'),
    ...realFiles('lerobot/gr00t/pick_and_put_in_drawer_v1/data/chunk-000', '.parquet'),
    ...realFiles('lerobot/gr00t/robot_sim.PickNPlace/data/chunk-000', '.parquet'),
  ]
  test('real tables are told whole, and withstand damage', {
    skip: real.length === 0 && 'no recordings here',
  }, async () => {
    for (const { name, bytes } of real) {
      const whole = bytes()
      const { channels, findings } = await scan(whole, true)
      const timeless = findings.some(({ code }) => code === 'timestamp_invalid')
      assert.equal(findings.length, timeless ? 1 : 0, name)
      assert.ok(timeless || channels.every(({ count }) => count > 100), name)
      await withstandsCutsAndFlips(parquet, whole)
    }
  })
})
