import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { McapRecordBuilder } from '@mcap/core'
import { mcap } from '../src/mcap.ts'
import { MAX_CHANNELS, type Source } from '../src/recording.ts'
import { bytesSource, collect } from './support/collect.ts'
import { list } from './support/listing.ts'
import {
  assembleChunk,
  assembleMcap,
  channelOf,
  messageAt,
  ORIGIN_NS,
  writeMcap,
} from './support/mcap-writer.ts'
import { codesOf, countOf, detailOf } from './support/outcome.ts'

const schemaOf = (id: number, name: string, text = 'float64 x') => ({
  id,
  name,
  encoding: 'ros2msg',
  data: Buffer.from(text),
})

function read(build: (file: McapRecordBuilder) => void) {
  return collect(mcap, bytesSource(assembleMcap(build)))
}

describe('channels and schemas', () => {
  test('without a schema (id 0) are read without complaint', async () => {
    const result = await read((file) => {
      file.writeChannel(channelOf(1, '/note'))
      file.writeMessage(messageAt(1, 0))
    })
    assert.equal(result.channels[0]?.schema, '')
    assert.deepEqual(codesOf(result), ['index_missing'])
  })

  test('that refer to a schema nobody defined are counted, and that is told for each', async () => {
    const result = await read((file) => {
      file.writeChannel(channelOf(1, '/a', 7))
      file.writeChannel(channelOf(2, '/b', 8))
      file.writeMessage(messageAt(1, 0))
      file.writeMessage(messageAt(2, 1))
    })
    assert.equal(countOf(result), 2)
    const missing = result.findings.filter(({ code }) => code === 'schema_missing')
    assert.deepEqual(
      missing.map(({ channel }) => channel),
      [0, 1],
    )
    assert.match(missing[0]?.detail ?? '', /channel '\/a' refers to schema 7/)
  })

  test('that are repeated are the same', async () => {
    const result = await read((file) => {
      for (let n = 0; n < 3; n++) {
        file.writeSchema(schemaOf(1, 'Point'))
        file.writeChannel(channelOf(1, '/a', 1))
        file.writeMessage(messageAt(1, n))
      }
    })
    assert.equal(result.channels.length, 1)
    assert.deepEqual(codesOf(result), ['index_missing'])
  })

  test('that are defined again otherwise keep their first definition, and that is told', async () => {
    const result = await read((file) => {
      file.writeSchema(schemaOf(1, 'Point'))
      file.writeChannel(channelOf(1, '/a', 1))
      file.writeMessage(messageAt(1, 0))
      file.writeSchema(schemaOf(1, 'Point', 'float32 x'))
      file.writeChannel(channelOf(1, '/b', 1))
      file.writeMessage(messageAt(1, 1))
    })
    assert.deepEqual(
      result.channels.map(({ topic, count }) => [topic, count]),
      [['/a', 2]],
    )
    assert.match(
      detailOf(result, 'schema_conflict'),
      /schema id 1 is 'Point'.*channel id 1 is '\/a'.* as '\/b'/,
    )
  })

  test('that were never defined cost their messages only', async () => {
    const result = await read((file) => {
      file.writeChannel(channelOf(1, '/a'))
      file.writeMessage(messageAt(1, 0))
      for (let t = 1; t < 6; t++) file.writeMessage(messageAt(9, t))
    })
    assert.equal(countOf(result), 1)
    const finding = result.findings.find(({ code }) => code === 'messages_undecodable')
    assert.equal(finding?.count, 5)
    assert.match(finding?.detail ?? '', /channel id 9/)
  })

  test('are told though they have no message', async () => {
    const result = await read((file) => file.writeChannel(channelOf(1, '/silent')))
    assert.deepEqual(
      result.channels.map(({ topic, count }) => [topic, count]),
      [['/silent', 0]],
    )
    assert.deepEqual(codesOf(result), ['recording_empty'])
  })

  test('have names without control characters, and not too long', async () => {
    const result = await read((file) => file.writeChannel(channelOf(1, `/a\n\u0000${'b'.repeat(1000)}`)))
    assert.match(result.channels[0]?.topic ?? '', /^\/a\uFFFD\uFFFDb+$/)
    assert.equal(result.channels[0]?.topic.length, 255)
  })

  for (const [profiles, latched] of [
    ['- durability: 1\n- durability: 1', true],
    ['- history: keep_last\n  durability: transient_local', true],
    ['- durability: 1\n- durability: 2', undefined],
    ['', undefined],
  ] as const) {
    test(`are latched by their quality of service: ${JSON.stringify(profiles)} is ${latched ?? false}`, async () => {
      const metadata = new Map([['offered_qos_profiles', profiles]])
      const result = await read((file) => file.writeChannel(channelOf(1, '/tf_static', 0, metadata)))
      assert.equal(result.channels[0]?.latched, latched)
    })
  }

  test('past the limit are not kept, and that is told once', async () => {
    const result = await read((file) => {
      for (let id = 0; id < 12_000; id++) file.writeChannel(channelOf(id, `/${id}`))
      for (let id = 0; id < 12_000; id += 1000) file.writeMessage(messageAt(id, id))
    })
    assert.equal(result.channels.length, MAX_CHANNELS)
    assert.equal(countOf(result), 10)
    assert.equal(result.findings.filter(({ code }) => code === 'messages_undecodable').length, 1)
  })

  test('of more bytes than are kept are left out, and that is told', async () => {
    const result = await read((file) => {
      for (let id = 1; id <= 100; id++) file.writeSchema(schemaOf(id, `${id}`, 'x'.repeat(2 ** 20)))
      for (const id of [1, 100]) file.writeChannel(channelOf(id, `/${id}`, id))
    })
    assert.deepEqual(
      result.channels.map(({ schema, schemaBytes }) => [schema, schemaBytes]),
      [
        ['1', 2 ** 20],
        ['', 0],
      ],
    )
    assert.match(detailOf(result, 'schema_missing'), /schema '65' at byte \d+ is not kept, nor others/)
  })
})

describe('times', () => {
  test('are exact to the nanosecond, in any order', async () => {
    const written = [0, 5_000_000_001, 3, 8_999_999_999_999_999, -7]
    const bytes = assembleMcap((file) => {
      file.writeChannel(channelOf(1, '/a'))
      for (const t of written) file.writeMessage(messageAt(1, t))
    })
    const listed = await list(mcap, bytesSource(bytes))
    assert.deepEqual(
      listed.map(({ t }) => t),
      written,
    )
  })

  test('of 1970 among others do not make the others inexact', async () => {
    const bytes = assembleMcap((file) => {
      file.writeChannel(channelOf(1, '/a'))
      for (const t of [0n, -ORIGIN_NS, 1n]) file.writeMessage(messageAt(1, t))
    })
    const result = await collect(mcap, bytesSource(bytes))
    assert.equal(result.originNs, ORIGIN_NS)
    assert.equal(result.channels[0]?.last, 1)
    assert.match(detailOf(result, 'timestamp_invalid'), /stamped -1700000000.\d+ s from the origin/)
  })

  test('count from the earliest message where the statistics tell it', async () => {
    const { bytes } = await writeMcap()
    const result = await collect(mcap, bytesSource(bytes))
    assert.equal(result.originNs, ORIGIN_NS)
    assert.deepEqual(result.timebase, { kind: 'unix' })
  })
})

describe('contents', () => {
  test('over 16 MiB are counted but not shown', async () => {
    const large = new Uint8Array(17 * 2 ** 20)
    const result = await read((file) => {
      file.writeChannel(channelOf(1, '/a'))
      file.writeMessage(messageAt(1, 0, large))
      file.writeChunk(assembleChunk((chunk) => chunk.writeMessage(messageAt(1, 1, large))))
      file.writeMessage(messageAt(1, 2))
    })
    const [channel] = result.channels
    assert.deepEqual([channel?.count, channel?.contents, channel?.bytes], [3, 1, 2 * large.length + 8])
  })

  test('of an attachment are verified in full only', async () => {
    const { bytes } = await writeMcap({
      attachment: new Uint8Array(5000).fill(7),
      without: ['useStatistics'],
    })
    const at = Buffer.from(bytes).indexOf(new Uint8Array(100).fill(7))
    const changed = Uint8Array.from(bytes)
    changed[at + 50] = 8
    assert.deepEqual(codesOf(await collect(mcap, bytesSource(changed))), [])
    const full = await collect(mcap, bytesSource(changed), { full: true })
    assert.match(
      detailOf(full, 'chunk_corrupt'),
      /the attachment at byte \d+ is not what its CRC was made of/,
    )
  })
})

describe('a scan', () => {
  const failing: Source = { size: () => 10_000, read: () => Promise.reject(new Error('the store is away')) }

  test('passes on that its source fails', async () => {
    await assert.rejects(collect(mcap, failing), /the store is away/)
  })

  test('passes on that its source fails in the middle', async () => {
    const { bytes } = await writeMcap({ messages: 20_000, chunkBytes: 100_000 })
    const source = bytesSource(bytes)
    const read: Source['read'] = (offset, length) =>
      offset > 100_000 && offset < 900_000 ? failing.read(offset, length) : source.read(offset, length)
    await assert.rejects(collect(mcap, { ...source, read }), /the store is away/)
  })

  test('stops when it is told to', async () => {
    const { bytes } = await writeMcap()
    const visitor = {
      origin: () => {},
      channel: () => 0,
      message: () => {},
      content: () => {},
      marker: () => {},
      finding: () => {},
      progress: () => {},
    }
    const options = { signal: AbortSignal.abort(new Error('enough')), tempDir: '', full: false }
    await assert.rejects(mcap.scan(bytesSource(bytes), visitor, options), /enough/)
  })
})
