import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32, zstdCompressSync } from 'node:zlib'
import { mcap } from '../src/mcap.ts'
import { structuralCodes } from '../src/recording.ts'
import { bytesSource, collect } from './support/collect.ts'
import { type Damaged, damaged, zeroBlock } from './support/damage.ts'
import { list } from './support/listing.ts'
import { changeRecord, corruptChunk, opcodes, recordsOf } from './support/mcap-edit.ts'
import {
  assembleChunk,
  assembleMcap,
  channelOf,
  messageAt,
  noSummary,
  ORIGIN_NS,
  type Shape,
  writeMcap,
} from './support/mcap-writer.ts'
import { codesOf, countOf, detailOf } from './support/outcome.ts'

const compressions = ['none', 'zstd', 'lz4'] as const

describe('a file that is cut', () => {
  for (const compression of compressions) {
    test(`within a ${compression} chunk tells all messages before, and the first of that chunk`, async () => {
      const { bytes, written } = await writeMcap({ compression, messages: 6000, chunkBytes: 300_000 })
      const chunk = recordsOf(bytes).filter(({ opcode }) => opcode === opcodes.chunk)[1]
      assert.ok(chunk)
      const before = countOf(await collect(mcap, bytesSource(bytes.slice(0, chunk.at))))
      const part = bytes.slice(0, chunk.end - 200)
      const listed = await list(mcap, bytesSource(part))
      assert.ok(listed.length > before, `${listed.length} of which ${before} stand before the chunk`)
      assert.deepEqual(
        listed.map(({ topic, t, bytes }) => ({ topic, t, bytes })),
        written.slice(0, listed.length),
      )
      const result = await collect(mcap, bytesSource(part))
      assert.deepEqual(codesOf(result), ['recording_truncated'])
      assert.match(
        detailOf(result, 'recording_truncated'),
        /ends at byte \d+ without a footer: at byte \d+ stands/,
      )
    })
  }

  test('anywhere tells all messages whose records are whole', async () => {
    const { bytes, written } = await writeMcap({ without: ['useChunks'], messages: 40 })
    const ends = recordsOf(bytes).filter(({ opcode }) => opcode === opcodes.message)
    for (let at = 0; at < bytes.length; at += 7) {
      const listed = await list(mcap, bytesSource(bytes.slice(0, at)))
      const whole = ends.filter(({ end }) => end <= at).length
      assert.deepEqual(
        listed.map(({ t }) => t),
        written.slice(0, whole).map(({ t }) => t),
      )
    }
  })

  test('behind its data says what is missing', async () => {
    const { bytes, written } = await writeMcap()
    const result = await collect(mcap, bytesSource(bytes.slice(0, -100)))
    assert.equal(countOf(result), written.length)
    assert.deepEqual(codesOf(result), ['recording_truncated'])
  })

  test('and filled up with zeros is cut where they begin', async () => {
    const { bytes } = await writeMcap()
    const zeroed = zeroBlock(bytes, 20_000, bytes.length).bytes
    const result = await collect(mcap, bytesSource(zeroed))
    assert.ok(countOf(result) > 0)
    assert.ok(codesOf(result).includes('recording_truncated'))
  })

  test('to nothing, or to its magic, is truncated and not empty', async () => {
    const { bytes } = await writeMcap()
    for (const length of [0, 3, 8, 20]) {
      const result = await collect(mcap, bytesSource(bytes.slice(0, length)))
      assert.deepEqual(codesOf(result), ['recording_truncated'], `${length} bytes`)
    }
  })
})

test('a file that is no MCAP at all is told as that, and nothing more', async () => {
  const result = await collect(mcap, bytesSource(Buffer.from('time,x,y\n0.1,1,2\n'.repeat(500))))
  assert.deepEqual(codesOf(result), ['chunk_corrupt'])
  assert.match(detailOf(result, 'chunk_corrupt'), /begins with 74696d652c782c79 where the magic/)
})

describe('a corrupt chunk', () => {
  for (const compression of compressions) {
    for (const full of [false, true]) {
      test(`of ${compression} is skipped, and those behind it are read${full ? ' in full' : ''}`, async () => {
        const { bytes, written } = await writeMcap({ compression })
        const result = await collect(mcap, bytesSource(corruptChunk(bytes, 0)), { full })
        const [finding] = result.findings
        assert.deepEqual(codesOf(result), ['chunk_corrupt'])
        const lost = Number(finding?.detail.match(/the (\d+) messages in it are lost/)?.[1])
        assert.ok(lost > 0)
        assert.equal(countOf(result), written.length - lost)
        assert.equal(finding?.t, 0)
      })
    }
  }

  test('is told by every kind of scan that opens it, with how many there are', async () => {
    const { bytes } = await writeMcap({ compression: 'lz4' })
    const twice = corruptChunk(corruptChunk(bytes, 2), 4)
    const result = await collect(mcap, bytesSource(twice), { full: true })
    assert.equal(result.findings.find(({ code }) => code === 'chunk_corrupt')?.count, 2)
  })

  test('that claims 2^40 bytes is not made room for', async () => {
    const { bytes, written } = await writeMcap({ compression: 'zstd' })
    const changed = changeRecord(bytes, opcodes.chunk, 1, (body) => body.setBigUint64(16, 2n ** 40n, true))
    const result = await collect(mcap, bytesSource(changed), { full: true })
    assert.match(detailOf(result, 'messages_undecodable'), /says that it holds 1099511627776 bytes/)
    assert.ok(countOf(result) > 0 && countOf(result) < written.length)
  })

  test('that holds more than it claims is not unpacked further', async () => {
    const bomb = zstdCompressSync(new Uint8Array(64 * 2 ** 20))
    const bytes = assembleMcap((file) => {
      file.writeChunk({
        ...assembleChunk(() => {}),
        compression: 'zstd',
        uncompressedSize: 1000n,
        records: bomb,
      })
    })
    const result = await collect(mcap, bytesSource(bytes))
    assert.match(detailOf(result, 'chunk_corrupt'), /cannot be decompressed/)
  })

  test('of an unknown compression is told by the index, without contents', async () => {
    const { bytes, written } = await writeMcap({ compression: 'zstd' })
    let renamed = bytes
    const chunks = recordsOf(bytes).filter(({ opcode }) => opcode === opcodes.chunk).length
    for (let n = 0; n < chunks; n++) {
      renamed = changeRecord(renamed, opcodes.chunk, n, (body) => body.setUint32(32, 0x7364736d, true))
    }
    const result = await collect(mcap, bytesSource(renamed))
    assert.equal(countOf(result), written.length)
    assert.match(detailOf(result, 'messages_undecodable'), /is compressed by 'msds'/)
  })

  test('may consist of several zstd frames', async () => {
    const { records, ...chunk } = assembleChunk((records) => {
      records.writeChannel(channelOf(1, '/a'))
      for (let t = 0; t < 100; t++) records.writeMessage(messageAt(1, t))
    })
    const half = records.length >> 1
    const frames = [records.subarray(0, half), records.subarray(half)].map((part) => zstdCompressSync(part))
    const compressed = {
      ...chunk,
      uncompressedCrc: crc32(records),
      compression: 'zstd',
      records: Buffer.concat(frames),
    }
    const result = await collect(mcap, bytesSource(assembleMcap((file) => file.writeChunk(compressed))))
    assert.equal(countOf(result), 100)
    assert.deepEqual(codesOf(result), ['index_missing'])
  })
})

describe('framing', () => {
  test('that is lost without an index is found again at the next chunk', async () => {
    const { bytes, written } = await writeMcap({ compression: 'zstd', without: noSummary })
    const changed = changeRecord(bytes, opcodes.chunk, 2, () => {})
    const chunk = recordsOf(bytes).filter(({ opcode }) => opcode === opcodes.chunk)[2]
    assert.ok(chunk)
    changed.fill(0, chunk.at, chunk.at + 60)
    const result = await collect(mcap, bytesSource(changed))
    assert.match(detailOf(result, 'chunk_corrupt'), /which is no record; reading goes on at byte/)
    assert.ok(countOf(result) > written.length * 0.7)
  })

  test('that is lost in an unchunked file is found again at the next messages', async () => {
    const { bytes, written } = await writeMcap({ without: ['useChunks'] })
    const message = recordsOf(bytes).filter(({ opcode }) => opcode === opcodes.message)[50]
    assert.ok(message)
    const changed = Uint8Array.from(bytes)
    changed[message.at + 7] = 0x10
    const result = await collect(mcap, bytesSource(changed))
    assert.equal(countOf(result), written.length - 1)
    assert.match(detailOf(result, 'chunk_corrupt'), new RegExp(`at byte ${message.at} stands`))
  })

  test('that went through a text-mode transfer is followed as far as it goes', async () => {
    const { bytes, written } = await writeMcap({ compression: 'none' })
    const text = Buffer.from(Buffer.from(bytes).toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
    assert.ok(mcap.recognises(text))
    const result = await collect(mcap, bytesSource(text))
    assert.match(detailOf(result, 'chunk_corrupt'), /a transfer in text mode/)
    assert.ok(countOf(result) > written.length * 0.7)
  })

  test('of files that were joined is followed into the second', async () => {
    const { bytes, written } = await writeMcap()
    const result = await collect(mcap, bytesSource(Buffer.concat([bytes, bytes])))
    assert.equal(countOf(result), 2 * written.length)
  })
})

describe('whatever happens to the bytes', () => {
  const shapes: Record<string, Shape> = {
    uncompressed: {},
    zstd: { compression: 'zstd' },
    lz4: { compression: 'lz4', attachment: new Uint8Array(500) },
    unchunked: { without: ['useChunks'] },
    unindexed: { compression: 'zstd', without: noSummary },
  }
  for (const [name, shape] of Object.entries(shapes)) {
    test(`a ${name} file is read to its end, and findings are in the face's own words`, async () => {
      const { bytes, written } = await writeMcap(shape)
      for (const variant of variantsOf(bytes)) {
        const result = await collect(mcap, bytesSource(variant.bytes))
        for (const { code, detail } of result.findings) {
          assert.ok(structuralCodes.includes(code), `${variant.name}: ${code}`)
          assert.doesNotMatch(detail, /undefined|NaN|\[object/, variant.name)
        }
        assert.ok(countOf(result) <= written.length + 1, `${variant.name}: ${countOf(result)} messages`)
      }
    })
  }

  for (const compression of compressions) {
    test(`a full scan of ${compression} chunks tells only what was written, and that something is wrong`, async () => {
      const { bytes, written } = await writeMcap({ compression })
      const known = new Set(
        written.map(({ topic, t, bytes }) => `${topic} ${ORIGIN_NS + BigInt(t)} ${bytes}`),
      )
      for (const variant of variantsOf(bytes)) {
        if (Buffer.compare(variant.bytes, bytes) === 0) continue
        for (const { topic, ns, bytes } of await list(mcap, bytesSource(variant.bytes), { full: true })) {
          assert.ok(known.has(`${topic} ${ns} ${bytes}`), `${variant.name}: ${topic} ${ns} ${bytes}`)
        }
        const { findings } = await collect(mcap, bytesSource(variant.bytes), { full: true })
        assert.notDeepEqual(findings, [], variant.name)
      }
    })
  }
})

function* variantsOf(bytes: Uint8Array): Iterable<Damaged> {
  for (let seed = 1; seed <= 2; seed++) yield* damaged(bytes, seed)
}
