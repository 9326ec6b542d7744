import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, suite, test } from 'node:test'
import {
  cut,
  type Damaged,
  damaged,
  flip,
  lie,
  seeded,
  zeroBlock,
} from '../../formats/test/support/damage.ts'
import { hostile } from './support/hostile.ts'
import { openScanPool } from './support/scan-pool.ts'
import { assertTruthful } from './support/truthful.ts'

// Damaged files end in an analysis: never in a crash, a hang, or more memory than a scan may have.

const fixtures = join(import.meta.dirname, '../../formats/fixtures')
const recordings = join(import.meta.dirname, '../../../../shared/recordings')
const pool = openScanPool()
after(() => pool.close())

async function withstandsAll(filename: string, variants: Iterable<Damaged>): Promise<void> {
  const running = [...variants].map(async ({ name, bytes }) => {
    try {
      assertTruthful((await pool.scan({ filename, bytes })).analysis)
    } catch (cause) {
      throw new Error(`${filename}, ${name}`, { cause })
    }
  })
  const failed = (await Promise.allSettled(running)).filter(({ status }) => status === 'rejected')
  if (failed.length > 0) throw new AggregateError(failed.map((one) => 'reason' in one && one.reason))
}

suite('small files of every format withstand cuts, turned bits, lost blocks and lies', () => {
  for (const name of readdirSync(fixtures).filter((name) => !name.endsWith('.json'))) {
    test(name, () => {
      const bytes = new Uint8Array(readFileSync(join(fixtures, name)))
      const variants = [...damaged(bytes, bytes.length)]
      // Each starts the library anew, and its own tests go through all of them.
      return withstandsAll(name, name.endsWith('.hdf5') ? variants.filter((_, n) => n % 4 === 0) : variants)
    })
  }
})

suite('hostile files end in an analysis, within the caps', { concurrency: 2 }, () => {
  for (const [name, { filename, make }] of Object.entries(hostile)) {
    test(name, async () => assertTruthful((await pool.scan({ filename, bytes: await make() })).analysis))
  }
})

/** Their readers go through more of them in their own tests. */
const TIMES = process.env.TEST_THOROUGH ? 20 : 2

const skip = existsSync(recordings) ? false : 'there are none on this machine'
suite('real recordings withstand them too', { skip }, () => {
  for (const path of skip ? [] : filesIn(recordings)) {
    test(path.slice(recordings.length + 1), async () => {
      const bytes = new Uint8Array(readFileSync(path))
      const random = seeded(bytes.length)
      const place = () => Math.floor(random() * bytes.length)
      const cuts = Array.from({ length: TIMES }, () => cut(bytes, place()))
      const flips = Array.from({ length: TIMES }, () => flip(bytes, place(), Math.floor(random() * 8)))
      const blocks = Array.from({ length: Math.ceil(TIMES / 5) }, () => zeroBlock(bytes, place(), 4096))
      const lies = Array.from({ length: Math.ceil(TIMES / 5) }, () => lie(bytes, place()))
      const changed = bytes.length > 0 ? [...flips, ...blocks, ...lies] : []
      await withstandsAll(basename(path), [{ name: 'whole', bytes }, ...cuts, ...changed])
    })
  }
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
}
