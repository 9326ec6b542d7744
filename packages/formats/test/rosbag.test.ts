import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { MAX_CHANNELS } from '../src/recording.ts'
import { rosbag } from '../src/rosbag.ts'
import { ascii, lz4Frame, type Message, writeBag, writeOldBag } from './support/bag-writer.ts'
import { bytesSource, collect } from './support/collect.ts'
import { connections, drive, messages } from './support/drive.ts'
import { codesOf, countOf, detailOf, toJson } from './support/outcome.ts'
import { tellTo } from './support/telling.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
const golden: unknown = JSON.parse(readFileSync(join(fixtures, 'rosbag.json'), 'utf8'))
const bz2Chunk = new Uint8Array(readFileSync(join(fixtures, 'rosbag-chunk.bz2')))

const scan = (bytes: Uint8Array, options = {}) => collect(rosbag, bytesSource(bytes), options)
const one = (conn: number, sec: number, nano = 0): Message => ({ conn, sec, nano, data: ascii('abcd') })

describe('a bag is told the same', () => {
  const ways = {
    uncompressed: drive(),
    'in one chunk': drive({ perChunk: 1000 }),
    'with lz4': drive({ compression: 'lz4', pack: lz4Frame }),
    'with bz2': drive({ perChunk: 1000, compression: 'bz2', pack: () => bz2Chunk }),
    'with zeros between its records': drive({ paddingBytes: 777 }),
  }
  for (const [way, options] of Object.entries(ways)) {
    test(way, async () => {
      const { bytes } = writeBag(options)
      assert.ok(rosbag.recognises(bytes))
      assert.deepEqual(toJson(await scan(bytes, { full: true })), golden)
    })
  }

  test('by a recorder of version 1.2, which does not say what is latched', async () => {
    const bytes = writeOldBag(connections, messages())
    assert.ok(rosbag.recognises(bytes))
    const told = await scan(bytes)
    assert.deepEqual(toJson({ ...told, channels: told.channels.map(latchMap) }), golden)
  })

  function latchMap<T extends { topic: string }>(channel: T) {
    return channel.topic === '/map' ? { ...channel, latched: true } : channel
  }
})

describe('an index', () => {
  const { bytes, chunks } = writeBag(drive({ seconds: 30, perChunk: 70 }))

  test('is read instead of the chunks, but for every twentieth and the last', async () => {
    const told = await scan(bytes)
    const contents = told.channels.reduce((sum, channel) => sum + channel.contents, 0)
    assert.equal(chunks.length, 48)
    assert.equal(contents, 70 + 70 + 70 + (3301 - 47 * 70))
    assert.equal(countOf(told), 3301)
  })

  test('gives the same sizes and times as the chunks', async () => {
    const quick = await scan(bytes)
    const full = await scan(bytes, { full: true })
    const withoutContents = quick.channels.map((channel) => ({ ...channel, contents: channel.count }))
    assert.deepEqual(withoutContents, full.channels)
    assert.deepEqual(quick.findings, [])
  })

  test('costs a small part of a large bag', async () => {
    const large = writeBag({
      connections,
      chunks: Array.from({ length: 60 }, (_, n) => ({
        messages: [{ ...one(1, 1_700_000_000 + n), data: new Uint8Array(700_000) }],
      })),
    })
    const { read } = await scan(large.bytes)
    assert.ok(read.bytes < large.bytes.length / 8, `${read.bytes} of ${large.bytes.length} bytes`)
    assert.ok(read.reads < 3 * 60, `${read.reads} reads`)
  })

  test('that was never written is missing, and nothing else is', async () => {
    const told = await scan(writeBag(drive({ isClosed: false })).bytes, { full: true })
    assert.deepEqual(codesOf(told), ['index_missing'])
    // Channels come in the order of their first messages.
    const [imu, map, camera] = told.channels
    assert.ok(imu && map && camera)
    assert.deepEqual(toJson({ ...told, channels: [imu, camera, map], findings: [] }), golden)
  })

  test('of a recorder that died inside a chunk, whose length is still 0, loses no message', async () => {
    const { bytes, chunks } = writeBag(drive({ isClosed: false }))
    const last = chunks.at(-1)
    assert.ok(last)
    const died = bytes.slice(0, last.dataAt + last.dataBytes)
    new DataView(died.buffer).setUint32(last.dataAt - 4, 0, true)
    const told = await scan(died)
    assert.deepEqual(codesOf(told), ['index_missing'])
    assert.equal(countOf(told), messages().length)
  })
})

describe('times', () => {
  const bag = (list: Message[][]) =>
    writeBag({ connections, chunks: list.map((messages) => ({ messages })) }).bytes

  test('are exact to the nanosecond, and need not go forward', async () => {
    const told = await scan(
      bag([[one(0, 1_700_000_009, 999_999_999)], [one(0, 1_700_000_000, 1)], [one(0, 1_700_000_005)]]),
    )
    const [imu] = told.channels
    assert.equal(told.originNs, 1_700_000_009_999_999_999n)
    assert.deepEqual([imu?.first, imu?.last], [-9_999_999_998, 0])
  })

  test('of a simulation may begin at 0', async () => {
    const told = await scan(bag([[one(0, 0), one(0, 47, 5)]]))
    assert.equal(told.originNs, 0n)
    assert.equal(told.channels[0]?.last, 47_000_000_005)
    assert.deepEqual(told.findings, [])
  })

  test('of a recorder that waited for its clock do not cost the others their nanoseconds', async () => {
    const late = Array.from({ length: 9 }, (_, n) => one(0, 1_700_000_000 + n, 1))
    const told = await scan(bag([[one(0, 0), ...late]]))
    assert.equal(told.originNs, 1_700_000_000_000_000_001n)
    assert.equal(told.channels[0]?.last, 8_000_000_000)
    assert.match(
      detailOf(told, 'timestamp_invalid'),
      /stamped 0 s 0 ns, which is -1700000000.* s from the origin/,
    )
  })

  test('with more nanoseconds than a second has are invalid', async () => {
    const told = await scan(bag([[one(0, 1_700_000_000), one(0, 1_700_000_000, 4_000_000_000)]]))
    assert.deepEqual(codesOf(told), ['timestamp_invalid'])
    assert.equal(countOf(told), 2)
  })
})

describe('connections', () => {
  const emptyMd5 = 'd41d8cd98f00b204e9800998ecf8427e'
  const [imu] = connections
  assert.ok(imu)
  const bag = (list: typeof connections) =>
    writeBag({ connections: list, chunks: [{ messages: list.map(({ id }) => one(id, 1_700_000_000 + id)) }] })
      .bytes

  test('of one topic and type share a channel', async () => {
    const told = await scan(bag([imu, { ...imu, id: 1 }, { ...imu, id: 2 }]))
    assert.deepEqual(
      told.channels.map(({ topic, count }) => [topic, count]),
      [['/imu', 3]],
    )
    assert.deepEqual(told.findings, [])
  })

  test('that disagree on the type of a topic are a conflict, and separate channels', async () => {
    const told = await scan(bag([imu, { ...imu, id: 1, type: 'my/Imu' }]))
    assert.deepEqual(
      told.channels.map(({ schema, count }) => [schema, count]),
      [
        ['sensor_msgs/Imu', 1],
        ['my/Imu', 1],
      ],
    )
    assert.match(
      detailOf(told, 'schema_conflict'),
      /'\/imu' is published as sensor_msgs\/Imu .* and as my\/Imu/,
    )
  })

  test('that disagree on the definition of a type are a conflict', async () => {
    const told = await scan(
      bag([imu, { ...imu, id: 1, topic: '/imu2', md5: 'f'.repeat(32), definition: 'int8 y\n' }]),
    )
    assert.match(detailOf(told, 'schema_conflict'), /'\/imu2' defines sensor_msgs\/Imu with the MD5 ffff/)
  })

  test('with one number for two topics are a conflict, and the first holds', async () => {
    const { bytes } = writeBag({
      connections: [imu, { ...imu, topic: '/other' }],
      chunks: [{ messages: [one(0, 1_700_000_000)] }],
    })
    const told = await scan(bytes)
    assert.deepEqual(
      told.channels.map(({ topic }) => topic),
      ['/imu'],
    )
    assert.match(detailOf(told, 'schema_conflict'), /connection 0 .* at byte \d+; the first definition holds/)
  })

  test('without a definition lack one, unless their type has no fields', async () => {
    const told = await scan(
      bag([
        { ...imu, definition: '' },
        { ...imu, id: 1, topic: '/go', type: 'std_msgs/Empty', definition: '', md5: emptyMd5 },
      ]),
    )
    assert.deepEqual(codesOf(told), ['schema_missing'])
    assert.equal(told.findings[0]?.channel, 0)
  })

  test('that are latched and those that are not are separate channels', async () => {
    const told = await scan(bag([imu, { ...imu, id: 1, latching: true }]))
    assert.deepEqual(
      told.channels.map(({ latched }) => latched),
      [undefined, true],
    )
  })

  test('with names full of control characters are cleaned', async () => {
    const told = await scan(bag([{ ...imu, topic: `/a\n\0b${'x'.repeat(400)}` }]))
    assert.equal(told.channels[0]?.topic, `/a\uFFFD\uFFFDb${'x'.repeat(250)}`)
  })

  test('beyond the most that are kept are counted, not kept', async () => {
    const many = Array.from({ length: MAX_CHANNELS + 5 }, (_, id) => ({ ...imu, id, topic: `/t${id}` }))
    const told = await scan(bag(many))
    assert.equal(told.channels.length, MAX_CHANNELS)
    assert.deepEqual(codesOf(told), ['messages_undecodable'])
    assert.equal(told.findings[0]?.count, 5)
  })
})

test('reading bz2 leaves no handlers of uncaught errors behind', async () => {
  const count = () => process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection')
  const before = count()
  await scan(writeBag(drive({ perChunk: 1000, compression: 'bz2', pack: () => bz2Chunk })).bytes)
  assert.equal(count(), before)
})

test('a bag of another version is recognised, and says what can be done', async () => {
  const bytes = ascii('#ROSRECORD V1.1\n/imu\n0123\nImu\n')
  assert.ok(rosbag.recognises(bytes))
  assert.match(
    detailOf(await scan(bytes), 'messages_undecodable'),
    /version 1\.1, and only 1\.2 and 2\.0 are read/,
  )
})

test('an encrypted bag says by what', async () => {
  const { bytes } = writeBag(drive({ header: { encryptor: ascii('rosbag/AesCbcEncryptor') } }))
  const told = await scan(bytes)
  assert.deepEqual(codesOf(told), ['messages_undecodable'])
  assert.match(detailOf(told, 'messages_undecodable'), /encrypted by rosbag\/AesCbcEncryptor/)
})

test('a bag without messages is empty', async () => {
  assert.deepEqual(codesOf(await scan(writeBag({ connections, chunks: [] }).bytes)), ['recording_empty'])
})

test('other files are not recognised', () => {
  for (const head of ['', '#ROSBAG', '#ROSBAG V2', '{"a":1}', 'SQLite format 3\0']) {
    assert.equal(rosbag.recognises(ascii(head)), false, head)
  }
})

test('a scan that is called off ends', async () => {
  const source = bytesSource(writeBag(drive()).bytes)
  await assert.rejects(tellTo({}, rosbag, source, { signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('an error of the store is passed on', async () => {
  const source = { size: () => 9000, read: () => Promise.reject(new Error('the store is gone')) }
  await assert.rejects(collect(rosbag, source), { message: 'the store is gone' })
})
