import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Visitor } from '../src/recording.ts'
import { rosbag2 } from '../src/rosbag2.ts'
import { bytesSource, collect } from './support/collect.ts'
import { codesOf, countOf } from './support/outcome.ts'
import { tellTo } from './support/telling.ts'
import { withstandsCutsAndFlips } from './support/withstand.ts'

type Figures = { topics: number; messages: number; bytes: number; sumNs: string }

const folder = join(import.meta.dirname, '../../../../shared/recordings/db3')
/** Counted by the SQLite of another program. */
const figures: Record<string, Figures> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/rosbag2-real.json'), 'utf8'),
)

describe('real recordings', { skip: existsSync(folder) ? false : 'there are none on this machine' }, () => {
  for (const name of globSync('**/*.{db3,db3.zstd}', { cwd: folder }).sort()) {
    const bytes = () => new Uint8Array(readFileSync(join(folder, name)))

    test(`${name} has the messages that another program counts`, async () => {
      const told = { topics: 0, messages: 0, bytes: 0, sumNs: 0n }
      let originNs = 0n
      const heard: Partial<Visitor> = {
        origin(ns) {
          originNs = ns
        },
        channel: () => told.topics++,
        message(_channel, t, bytes) {
          told.messages++
          told.bytes += bytes
          told.sumNs += originNs + BigInt(t)
        },
      }
      await tellTo(heard, rosbag2, bytesSource(bytes()))
      assert.deepEqual({ ...told, sumNs: String(told.sumNs) }, figures[name])
    })

    test(`${name} has nothing wrong with it, and all contents can be had`, async () => {
      const told = await collect(rosbag2, bytesSource(bytes()), { full: true })
      assert.deepEqual(codesOf(told), countOf(told) > 0 ? [] : ['recording_empty'])
      assert.ok(told.channels.every(({ count, contents }) => contents === count))
    })

    test(`${name} withstands cuts and flips`, () => withstandsCutsAndFlips(rosbag2, bytes()))
  }
})
