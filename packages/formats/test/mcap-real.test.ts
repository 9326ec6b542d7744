import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { McapStreamReader } from '@mcap/core'
import { mcap } from '../src/mcap.ts'
import { bytesSource, collect } from './support/collect.ts'
import { cut, flip, seeded } from './support/damage.ts'
import { list } from './support/listing.ts'
import { codesOf, countOf } from './support/outcome.ts'

const folder = join(import.meta.dirname, '../../../../shared/recordings/mcap')
const files = globSync('**/*.mcap', { cwd: folder }).sort()
/** Went through a transfer in text mode; no other reader opens it. */
const damagedFile = 'keelson_2024-05-15.mcap'

describe('real recordings', { skip: existsSync(folder) ? false : 'there are none on this machine' }, () => {
  for (const file of files) {
    const bytes = existsSync(join(folder, file)) ? readFileSync(join(folder, file)) : new Uint8Array()

    for (const full of [false, true]) {
      const claim = `${basename(file)} reads as @mcap/core reads it${full ? ', in full' : ''}`
      test(claim, { skip: file === damagedFile }, async () => {
        const listed = await list(mcap, bytesSource(bytes), { full })
        assert.deepEqual(
          listed.map(({ topic, ns, bytes }) => `${topic} ${ns} ${bytes}`),
          readByLibrary(bytes),
        )
        const { findings } = await collect(mcap, bytesSource(bytes), { full })
        assert.deepEqual(
          findings.map(({ code }) => code),
          listed.length > 0 ? [] : ['recording_empty'],
        )
      })
    }

    test(`${basename(file)} withstands cuts and flips`, async () => {
      const random = seeded(bytes.length)
      const place = () => Math.floor(random() * bytes.length)
      const intact = file !== damagedFile
      const whole = intact ? countOf(await collect(mcap, bytesSource(bytes))) : Number.POSITIVE_INFINITY
      for (let n = 0; n < 20; n++) {
        const part = await collect(mcap, bytesSource(cut(bytes, place()).bytes))
        assert.ok(countOf(part) <= whole)
        assert.ok(part.findings.length > 0)
        const flipped = flip(bytes, place(), Math.floor(random() * 8))
        assert.ok(countOf(await collect(mcap, bytesSource(flipped.bytes))) <= whole + 1, flipped.name)
      }
    })
  }

  test('a file that went through a text-mode transfer is recognised, and says so', async () => {
    const bytes = readFileSync(join(folder, damagedFile))
    assert.ok(mcap.recognises(bytes))
    assert.deepEqual(codesOf(await collect(mcap, bytesSource(bytes))), ['chunk_corrupt', 'index_mismatch'])
  })
})

function readByLibrary(bytes: Uint8Array): string[] {
  const reader = new McapStreamReader({
    decompressHandlers: { zstd: (data, size) => zstdDecompressSync(data, { maxOutputLength: Number(size) }) },
  })
  reader.append(bytes)
  const topics = new Map<number, string>()
  const messages: string[] = []
  for (let record = reader.nextRecord(); record; record = reader.nextRecord()) {
    if (record.type === 'Channel') topics.set(record.id, record.topic)
    if (record.type !== 'Message') continue
    messages.push(`${topics.get(record.channelId)} ${record.logTime} ${record.data.length}`)
  }
  return messages
}
