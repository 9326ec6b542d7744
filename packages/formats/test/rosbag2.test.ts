import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { MAX_CHANNELS, type Visitor } from '../src/recording.ts'
import { rosbag2 } from '../src/rosbag2.ts'
import { bytesSource, collect } from './support/collect.ts'
import { writeDatabase, writeDb3 } from './support/db3-writer.ts'
import { BEGIN_NS, definitions, journey, qos, rows, topics } from './support/journey.ts'
import { codesOf, countOf, detailOf, toJson } from './support/outcome.ts'
import { tellTo } from './support/telling.ts'

type Golden = { channels: Record<string, unknown>[] }

const golden: Golden = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/rosbag2.json'), 'utf8'))
const scan = (bytes: Uint8Array, options = {}) => collect(rosbag2, bytesSource(bytes), options)
const tell = (bytes: Uint8Array, heard: Partial<Visitor>, options = {}) =>
  tellTo(heard, rosbag2, bytesSource(bytes), options)
const one = (topic: number, ns: bigint | string) => ({ topic, ns, data: Uint8Array.of(0, 1, 0, 0) })

describe('a bag is told the same', () => {
  const ways = {
    'in version 4': writeDb3(journey()),
    'written ahead': writeDb3(journey({ isWal: true })),
    'on small pages': writeDb3(journey({ pageBytes: 512 })),
    'on the largest pages': writeDb3(journey({ pageBytes: 65_536 })),
    'compressed as a file': new Uint8Array(zstdCompressSync(writeDb3(journey()))),
  }
  for (const [way, bytes] of Object.entries(ways)) {
    test(way, async () => {
      assert.ok(rosbag2.recognises(bytes))
      assert.deepEqual(toJson(await scan(bytes, { full: true })), golden)
    })
  }

  test('in versions 2 and 3, which have no definitions', async () => {
    const channels = golden.channels.map((channel) => ({ ...channel, schemaEncoding: '', schemaBytes: 0 }))
    for (const version of [2, 3] as const) {
      const told = await scan(writeDb3(journey({ version })), { full: true })
      assert.deepEqual(toJson(told), { ...golden, channels }, `version ${version}`)
    }
  })

  test('in version 1, which does not say what is latched either', async () => {
    const channels = golden.channels.map(({ latched: _, ...channel }) => ({
      ...channel,
      schemaEncoding: '',
      schemaBytes: 0,
    }))
    assert.deepEqual(toJson(await scan(writeDb3(journey({ version: 1 })), { full: true })), {
      ...golden,
      channels,
    })
  })

  test('with messages that are compressed one by one, but for their sizes', async () => {
    const packed = rows().map((row) => ({ ...row, data: new Uint8Array(zstdCompressSync(row.data)) }))
    const shown: number[] = []
    await tell(writeDb3(journey({ rows: packed })), {
      content: (_channel, _t, payload) => shown.push(payload.length),
    })
    assert.deepEqual(
      shown,
      rows().map(({ data }) => data.length),
    )
  })
})

describe('times', () => {
  test('are exact to the nanosecond, and come in the order of the file', async () => {
    const told: number[] = []
    const list = [one(1, BEGIN_NS), one(1, BEGIN_NS - 1n), one(1, BEGIN_NS + 3_600_000_000_001n)]
    await tell(writeDb3(journey({ rows: list })), { message: (_channel, t) => told.push(t) })
    assert.deepEqual(told, [0, -1, 3_600_000_000_001])
  })

  test('of a recorder that waited for its clock do not cost the others their nanoseconds', async () => {
    const told = await scan(writeDb3(journey({ rows: [one(1, 0n), ...rows()] })))
    assert.equal(told.originNs, BEGIN_NS)
    assert.deepEqual(codesOf(told), ['timestamp_invalid'])
  })

  test('that are no integers are invalid', async () => {
    const told = await scan(writeDb3(journey({ rows: [one(1, BEGIN_NS), one(1, 'noon')] })))
    assert.equal(countOf(told), 1)
    assert.match(detailOf(told, 'timestamp_invalid'), /time of message 2 is no integer/)
  })
})

describe('topics', () => {
  const bag = (options: Parameters<typeof journey>[0]) =>
    writeDb3(journey({ rows: [one(1, BEGIN_NS)], ...options }))

  test('are latched where every publisher keeps its last message', async () => {
    const qualities = [qos('1'), qos('1', 'transient_local'), qos('1', '2'), qos('volatile'), '', '[]']
    const [imu] = topics
    assert.ok(imu)
    const told = await scan(bag({ topics: qualities.map((qos, n) => ({ ...imu, name: `/t${n}`, qos })) }))
    assert.deepEqual(
      told.channels.map(({ latched = false }) => latched),
      [true, true, false, false, false, false],
    )
  })

  test('with one name and two types are a conflict', async () => {
    const told = await scan(bag({ topics: [...topics, { name: '/imu', type: 'sensor_msgs/msg/Image' }] }))
    assert.match(
      detailOf(told, 'schema_conflict'),
      /'\/imu' is recorded as sensor_msgs\/msg\/Imu and as sensor_msgs/,
    )
  })

  test('with two definitions of their type are a conflict', async () => {
    const other = { type: 'sensor_msgs/msg/Imu', encoding: 'ros2msg', text: 'int8 other\n' }
    const told = await scan(bag({ definitions: [...definitions, other] }))
    assert.match(
      detailOf(told, 'schema_conflict'),
      /sensor_msgs\/msg\/Imu, the type of '\/imu', has two definitions/,
    )
  })

  test('whose definition the recorder did not find lack one', async () => {
    const unknown = { type: 'nav_msgs/msg/OccupancyGrid', encoding: 'unknown', text: '' }
    const told = await scan(bag({ definitions: [...definitions.slice(0, 2), unknown] }))
    assert.deepEqual(codesOf(told), ['schema_missing'])
    assert.equal(told.findings[0]?.channel, 2)
  })

  test('with names full of control characters, or without end, are cleaned', async () => {
    const names = [`/a\n${'x'.repeat(400)}`, 'y'.repeat(1 << 17)]
    const told = await scan(bag({ topics: names.map((name) => ({ name, type: 'a/b' })) }))
    assert.deepEqual(
      told.channels.map(({ topic }) => topic),
      [`/a\uFFFD${'x'.repeat(252)}`, ''],
    )
  })

  test('beyond the most that are kept are counted, not kept', async () => {
    const more = `
      insert into topics select null, '/t' || value, 'a/b', 'cdr', '', '' from generate_series(1, ${MAX_CHANNELS + 5});
      insert into messages select null, id, 1, x'00010000' from topics;`.replace(
      /generate_series\((\d+), (\d+)\)/,
      '(with recursive n(value) as (select $1 union all select value + 1 from n where value < $2) select value from n)',
    )
    const told = await scan(bag({ topics: [], definitions: [], rows: [], version: 4, more }))
    assert.equal(told.channels.length, MAX_CHANNELS)
    assert.equal(countOf(told), MAX_CHANNELS)
    assert.equal(told.findings.find(({ code }) => code === 'messages_undecodable')?.count, 5)
  })
})

describe('contents', () => {
  test('are shown for the first messages of every topic and a few of the others', async () => {
    const long = Array.from({ length: 30_000 }, (_, n) => one(n < 29_990 ? 1 : 2, BEGIN_NS + BigInt(n)))
    const [imu, camera] = (await scan(writeDb3(journey({ rows: long })))).channels
    assert.ok(imu && camera)
    assert.ok(imu.contents > 1900 && imu.contents < 2100, `${imu.contents}`)
    assert.equal(camera.contents, 10)
  })

  test('that are zstd but broken cannot be decoded', async () => {
    const broken = {
      topic: 1,
      ns: BEGIN_NS,
      data: Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3, 4, 5, 6, 7),
    }
    const told = await scan(writeDb3(journey({ rows: [broken] })))
    assert.equal(countOf(told), 1)
    assert.match(
      detailOf(told, 'messages_undecodable'),
      /content of message 1, 11 bytes of zstd, cannot be unpacked/,
    )
  })

  test('that would unpack to gigabytes are not shown', async () => {
    const bomb = { topic: 1, ns: BEGIN_NS, data: new Uint8Array(zstdCompressSync(new Uint8Array(20 << 20))) }
    const told = await scan(writeDb3(journey({ rows: [bomb] })))
    assert.equal(told.channels[0]?.contents, 0)
    assert.deepEqual(told.findings, [])
  })
})

test('nothing is left beside the copy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapedeck-scan-'))
  try {
    await tell(writeDb3(journey({ isWal: true })), {}, { tempDir: folder })
    assert.deepEqual(readdirSync(folder), ['bag.db3'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('messages of a topic that nobody names are counted, not told', async () => {
  const told = await scan(writeDb3(journey({ rows: [one(1, BEGIN_NS), one(9, BEGIN_NS), one(9, BEGIN_NS)] })))
  assert.equal(countOf(told), 1)
  assert.match(detailOf(told, 'messages_undecodable'), /topic 9, which the file does not name.* \(2 times\)/)
})

test('a bag without messages is empty', async () => {
  const told = await scan(writeDb3(journey({ rows: [] })))
  assert.equal(told.channels.length, 3)
  assert.deepEqual(codesOf(told), ['recording_empty'])
})

test('a database that is no bag says which tables it has', async () => {
  const bytes = writeDatabase((db) => db.exec('create table users(id, name); create table orders(id)'))
  assert.ok(rosbag2.recognises(bytes))
  assert.match(
    detailOf(await scan(bytes), 'messages_undecodable'),
    /not the tables of a bag .* but users, orders/,
  )
})

test('a database without tables may have left them in its log', async () => {
  const bytes = writeDatabase((db) => db.exec('pragma journal_mode = wal; create table a(b); drop table a'))
  assert.match(
    detailOf(await scan(bytes), 'recording_empty'),
    /no tables; its recorder wrote ahead, into a -wal file/,
  )
})

test('a compressed file that is no bag says how it begins', async () => {
  const told = await scan(new Uint8Array(zstdCompressSync(Buffer.from('\x89MCAP0\r\n and more of it'))))
  assert.match(
    detailOf(told, 'messages_undecodable'),
    /no SQLite database is found in 24 bytes, .* '\uFFFDMCAP0/,
  )
})

test('a bag that brings its own code is read without running it', async () => {
  const endless = `(with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n)`
  const actives = {
    view: `alter table messages rename to m; create view messages as select ${endless} as topic_id, timestamp, data from m`,
    check:
      'create table more(a check (length(randomblob(1000000000)) > 0)); insert into more select 1 from messages where 0',
    index: 'create index slow on messages (length(data))',
    column: `alter table messages add column slow generated always as (length(data)) virtual`,
  }
  for (const [name, more] of Object.entries(actives)) {
    const told = await scan(writeDb3(journey({ more })))
    assert.equal(countOf(told), rows().length, name)
    assert.deepEqual(told.findings, [], name)
  }
})

test('a scan that is called off ends', async () => {
  await assert.rejects(tell(writeDb3(journey()), {}, { signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('an error of the store is passed on, compressed or not', async () => {
  for (const bytes of [writeDb3(journey()), new Uint8Array(zstdCompressSync(writeDb3(journey())))]) {
    const { size, read } = bytesSource(bytes)
    const failing = (offset: number, length: number) =>
      length > 4 ? Promise.reject(new Error('the store is gone')) : read(offset, length)
    await assert.rejects(collect(rosbag2, { size, read: failing }), { message: 'the store is gone' })
  }
})
