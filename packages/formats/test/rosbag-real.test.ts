import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { rosbag } from '../src/rosbag.ts'
import { bytesSource, collect } from './support/collect.ts'
import { list } from './support/listing.ts'
import { codesOf } from './support/outcome.ts'
import { withstandsCutsAndFlips } from './support/withstand.ts'

type Figures = { topics: number; messages: number; bytes: number; sumNs: string }

const folder = join(import.meta.dirname, '../../../../shared/recordings/rosbag1')
/** Counted by another program, which reads every chunk with the tools of bzip2 and lz4. */
const figures: Record<string, Figures> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/rosbag-real.json'), 'utf8'),
)
const expected: Record<string, string[]> = {
  'empty-file.bag': ['recording_truncated'],
  'webviz_bag-with-empty-message-definition.bag': ['schema_missing'],
}

describe('real recordings', { skip: existsSync(folder) ? false : 'there are none on this machine' }, () => {
  for (const name of globSync('**/*.bag', { cwd: folder }).sort()) {
    const bytes = () => new Uint8Array(readFileSync(join(folder, name)))

    for (const full of [false, true]) {
      test(`${name} has the messages that another program counts${full ? ', in full' : ''}`, async () => {
        const listed = await list(rosbag, bytesSource(bytes()), { full })
        const told = {
          topics: new Set(listed.map(({ topic }) => topic)).size,
          messages: listed.length,
          bytes: listed.reduce((sum, { bytes }) => sum + bytes, 0),
          sumNs: String(listed.reduce((sum, { ns }) => sum + ns, 0n)),
        }
        assert.deepEqual(told, figures[name])
        const collected = await collect(rosbag, bytesSource(bytes()), { full })
        assert.deepEqual(codesOf(collected), expected[name] ?? [])
      })
    }

    test(`${name} withstands cuts and flips`, () => withstandsCutsAndFlips(rosbag, bytes()))
  }
})
