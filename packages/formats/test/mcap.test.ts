import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { McapRecordBuilder } from '@mcap/core'
import { mcap } from '../src/mcap.ts'
import { bytesSource, collect } from './support/collect.ts'
import { list } from './support/listing.ts'
import { changeRecord, opcodes } from './support/mcap-edit.ts'
import {
  assembleChunk,
  assembleMcap,
  channelOf,
  messageAt,
  noSummary,
  type Shape,
  writeMcap,
} from './support/mcap-writer.ts'
import { codesOf, countOf, detailOf, toJson } from './support/outcome.ts'

const shapes: Record<string, Shape> = {
  zstd: { compression: 'zstd' },
  lz4: { compression: 'lz4' },
  uncompressed: {},
  unchunked: { without: ['useChunks'] },
  'without chunk index': { without: ['useChunkIndex'] },
  'without message index': { without: ['useMessageIndex'] },
  'without statistics': { without: ['useStatistics'] },
  'without repeated definitions': { without: ['repeatChannels', 'repeatSchemas'] },
  'without summary': { without: noSummary },
  'with attachment and metadata': { attachment: new Uint8Array(5000).fill(7) },
  empty: { messages: 0 },
}

const golden: Record<string, unknown> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/mcap.json'), 'utf8'),
)

for (const [name, shape] of Object.entries(shapes)) {
  describe(`a file ${name}`, () => {
    test('reads as its golden pair says', async () => {
      const { bytes } = await writeMcap(shape)
      assert.deepEqual(toJson(await collect(mcap, bytesSource(bytes))), golden[name])
    })

    for (const full of [false, true]) {
      test(`tells every message once, in the order of the file${full ? ', in full' : ''}`, async () => {
        const { bytes, written } = await writeMcap(shape)
        const listed = await list(mcap, bytesSource(bytes), { full })
        assert.deepEqual(
          listed.map(({ topic, t, bytes }) => ({ topic, t, bytes })),
          written,
        )
      })
    }
  })
}

describe('the index', () => {
  test('of a large file is read instead of the file, with a sample of its chunks', async () => {
    const { bytes } = await writeMcap({ messages: 20_000, chunkBytes: 50_000 })
    const result = await collect(mcap, bytesSource(bytes))
    assert.equal(countOf(result), 20_000)
    assert.ok(result.read.bytes < bytes.length / 2, `${result.read.bytes} of ${bytes.length} bytes`)
    const shown = result.channels.reduce((sum, { contents }) => sum + contents, 0)
    assert.ok(shown > 1000 && shown < 3000, `${shown} contents`)
    assert.deepEqual(result.findings, [])
  })

  test('is passed over by a full scan, which shows every content', async () => {
    const { bytes, written } = await writeMcap()
    const listed = await list(mcap, bytesSource(bytes), { full: true })
    assert.ok(listed.every(({ content }, n) => content?.length === written[n]?.bytes))
  })

  test('that reaches fewer messages than the statistics count is not gone by', async () => {
    const { bytes, written } = await writeMcap()
    const changed = changeRecord(bytes, opcodes.chunkIndex, 2, (body) => {
      const indexBytesAt = 36 + body.getUint32(32, true)
      body.setBigUint64(indexBytesAt, body.getBigUint64(indexBytesAt, true) - 16n, true)
    })
    const result = await collect(mcap, bytesSource(changed))
    assert.equal(countOf(result), written.length)
    assert.match(detailOf(result, 'index_mismatch'), /statistics count 200 messages, the message indexes 199/)
  })

  test('that points behind the end of a chunk is told, and chunks are read instead', async () => {
    const { bytes, written } = await writeMcap()
    const changed = changeRecord(bytes, opcodes.messageIndex, 9, (body) => body.setUint32(14, 2 ** 30, true))
    const result = await collect(mcap, bytesSource(changed))
    assert.equal(countOf(result), written.length)
    assert.match(detailOf(result, 'index_mismatch'), /a message begins at 1073741824 of a chunk of \d+ bytes/)
  })

  test('that disagrees with a sampled chunk is told, and the chunk believed', async () => {
    const { bytes, written } = await writeMcap()
    const changed = changeRecord(bytes, opcodes.messageIndex, 1, (body) =>
      body.setBigUint64(6, body.getBigUint64(6, true) + 1n, true),
    )
    const listed = await list(mcap, bytesSource(changed))
    assert.deepEqual(
      listed.map(({ t }) => t),
      written.map(({ t }) => t),
    )
    assert.match(detailOf(await collect(mcap, bytesSource(changed)), 'index_mismatch'), /are not the same/)
  })

  test('that counts other than the file holds is told by a full scan', async () => {
    const { bytes, written } = await writeMcap()
    const changed = changeRecord(bytes, opcodes.statistics, 0, (body) => body.setBigUint64(0, 7n, true))
    const result = await collect(mcap, bytesSource(changed), { full: true })
    assert.equal(countOf(result), written.length)
    assert.match(detailOf(result, 'index_mismatch'), /statistics count 7 messages/)
  })

  test('with a wrong CRC is not used', async () => {
    const { bytes, written } = await writeMcap()
    const changed = Uint8Array.from(bytes).fill(0xff, bytes.length - 12, bytes.length - 8)
    const result = await collect(mcap, bytesSource(changed))
    assert.equal(countOf(result), written.length)
    assert.match(detailOf(result, 'index_mismatch'), /has the CRC \w+ where the footer says ffffffff/)
  })

  test('may be most of the file, and larger than what is read of its end at first', async () => {
    const { bytes } = await writeMcap({ schemas: 700 })
    const result = await collect(mcap, bytesSource(bytes))
    assert.equal(result.channels.length, 703)
    assert.equal(countOf(result), 200)
    assert.deepEqual(result.findings, [])
    assert.ok(result.read.bytes < bytes.length * 1.01)
  })

  test('that is not at the end of the file is not looked for', async () => {
    const { bytes, written } = await writeMcap()
    const result = await collect(mcap, bytesSource(Buffer.concat([bytes, new Uint8Array(4096)])))
    assert.equal(countOf(result), written.length)
    assert.deepEqual(codesOf(result), ['chunk_corrupt', 'index_mismatch'])
  })
})

describe('a file larger than the blocks it is read in', () => {
  for (const full of [false, true]) {
    test(`is read once, with records across blocks${full ? ', in full' : ''}`, async () => {
      const bytes = assembleMcap((file) => {
        file.writeChannel(channelOf(1, '/a'))
        for (let t = 0; t < 30; t++) file.writeMessage(messageAt(1, t, new Uint8Array(700_000)))
        file.writeChunk(assembleChunk((chunk) => writeMany(chunk, 30, 9)))
        for (let t = 39; t < 60; t++) file.writeMessage(messageAt(1, t, new Uint8Array(700_000)))
      })
      const listed = await list(mcap, bytesSource(bytes), { full })
      assert.deepEqual(
        listed.map(({ t }) => t),
        Array.from({ length: 60 }, (_, t) => t),
      )
      const { read } = await collect(mcap, bytesSource(bytes), { full })
      assert.ok(read.bytes < bytes.length * 1.01, `${read.bytes} of ${bytes.length} bytes`)
    })
  }

  test('is verified over all its bytes in full, and large attachments are skipped otherwise', async () => {
    const { bytes, written } = await writeMcap({ attachment: new Uint8Array(15_000_000) })
    const full = await collect(mcap, bytesSource(bytes), { full: true })
    assert.deepEqual([countOf(full), full.findings], [written.length, []])
    assert.ok(full.read.bytes < bytes.length * 1.01)
    const changed = Uint8Array.from(bytes)
    changed[30] = 1
    const detail = detailOf(await collect(mcap, bytesSource(changed), { full: true }), 'chunk_corrupt')
    assert.match(detail, /the data up to byte \d+ has the CRC/)
    assert.ok((await collect(mcap, bytesSource(bytes))).read.bytes < 1_500_000)
  })
})

function writeMany(records: McapRecordBuilder, from: number, count: number): void {
  for (let t = from; t < from + count; t++) records.writeMessage(messageAt(1, t, new Uint8Array(700_000)))
}
