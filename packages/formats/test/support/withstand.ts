import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Reader, structuralCodes } from '../../src/recording.ts'
import { bytesSource, type Collected, collect } from './collect.ts'
import { cut, type Damaged, damaged, flip, seeded, VARIANTS } from './damage.ts'

// What must hold of a reader whatever the bytes are: it ends, reads the file once, reports in the face's own words,
// makes up next to nothing, and never loses messages in silence.

/** Records that damage may look like, in a whole file. */
const MADE_UP = 64
const SLACK_BYTES = 1 << 17

/** `silent`: how many messages one turned bit may cost unseen, where the format has no way to tell. */
export async function withstands(
  reader: Reader,
  bytes: Uint8Array,
  seed = 1,
  { silent = 0 } = {},
): Promise<void> {
  await checkAll(reader, bytes, damaged(bytes, seed), silent)
}

/** Fewer variants, for files that take their time. */
export async function withstandsCutsAndFlips(reader: Reader, bytes: Uint8Array, seed = 1): Promise<void> {
  const random = seeded(seed)
  const place = () => Math.floor(random() * bytes.length)
  const cuts = Array.from({ length: VARIANTS }, () => cut(bytes, place()))
  const flips = Array.from({ length: VARIANTS }, () => flip(bytes, place(), Math.floor(random() * 8)))
  await checkAll(reader, bytes, [...cuts, ...flips], 0)
}

async function checkAll(
  reader: Reader,
  bytes: Uint8Array,
  variants: Iterable<Damaged>,
  silent: number,
): Promise<void> {
  const whole = await collect(reader, bytesSource(bytes))
  for (const variant of variants) {
    try {
      check(await collect(reader, bytesSource(variant.bytes)), whole, variant, silent)
    } catch (cause) {
      throw new Error(variant.name, { cause })
    }
  }
}

function check(result: Collected, whole: Collected, { name, bytes }: Damaged, silent: number): void {
  assert.ok(
    result.read.bytes <= bytes.length * 1.1 + SLACK_BYTES,
    `read ${result.read.bytes} of ${bytes.length} bytes`,
  )
  for (const { code, detail } of result.findings) {
    assert.ok(structuralCodes.includes(code), code)
    assert.ok(detail.length > 20, detail)
    assert.ok(!/undefined|NaN|object Object/.test(detail), detail)
  }
  const lost = messages(whole) - messages(result)
  assert.ok(lost >= -MADE_UP, `${-lost} messages more than the whole file has`)
  // A file may be cut between two records, and no format says how many there should be.
  if (lost > silent && !name.startsWith('cut')) {
    assert.notDeepEqual(result.findings, whole.findings, `${lost} messages are lost in silence`)
  }
}

export function messages({ channels }: Collected): number {
  return channels.reduce((sum, { count }) => sum + count, 0)
}

/** Real recordings, where this machine has them. */
export function realFiles(folder: string, ...endings: string[]): { name: string; bytes: () => Uint8Array }[] {
  const path = join(import.meta.dirname, '../../../../../shared/recordings', folder)
  if (!existsSync(path)) return []
  return readdirSync(path)
    .filter((name) => endings.some((ending) => name.endsWith(ending)))
    .map((name) => ({ name, bytes: () => readFileSync(join(path, name)) }))
}
