import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcap } from '../src/mcap.ts'
import type { Reader } from '../src/recording.ts'
import { rosbag } from '../src/rosbag.ts'
import { rosbag2 } from '../src/rosbag2.ts'
import { writeBag } from './support/bag-writer.ts'
import { bytesSource, collect } from './support/collect.ts'
import { writeDb3 } from './support/db3-writer.ts'
import { drive } from './support/drive.ts'
import { journey } from './support/journey.ts'
import { writeMcap } from './support/mcap-writer.ts'

const files: [Reader, () => Promise<Uint8Array> | Uint8Array][] = [
  [mcap, async () => (await writeMcap({ messages: 2000 })).bytes],
  [rosbag, () => writeBag(drive({ seconds: 30, perChunk: 70 })).bytes],
  [rosbag2, () => writeDb3(journey())],
]

for (const [reader, make] of files) {
  test(`${reader.format}: when nobody looks at contents, none is read, and the messages are the same`, async () => {
    const source = bytesSource(await make())
    const withThem = await collect(reader, source)
    const without = await collect(reader, source, { contents: false })
    const told = ({ channels }: typeof without) =>
      channels.map(({ topic, count, first, last }) => ({ topic, count, first, last }))
    assert.deepEqual(told(without), told(withThem))
    assert.ok(withThem.channels.every(({ contents }) => contents > 0))
    assert.ok(without.channels.every(({ contents }) => contents === 0))
    assert.ok(without.read.bytes <= withThem.read.bytes)
  })
}
