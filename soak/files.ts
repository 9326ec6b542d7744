import { hash } from 'node:crypto'
import type { Chance } from './chance.ts'

export type File = { name: string; bytes: Uint8Array<ArrayBuffer>; sha256: string }

/** The smallest part there is: most recordings have one, some have three. */
export const PART_BYTES = 8_000_000
const SMALL_BYTES = 60_000
const MAX_ROWS = 2_000

/** A recording as they come: a table that can be read, or noise that cannot, from a few bytes to three parts. */
export function makeFile(chance: Chance): File {
  const bytes = chance.next() < 0.5 ? makeTable(chance) : noise(chance, sizeOf(chance))
  const kind = bytes[0] === '#'.charCodeAt(0) ? 'csv' : 'mcap'
  return { name: `run-${chance.between(0, 99_999)}.${kind}`, bytes, sha256: hash('sha256', bytes) }
}

function sizeOf(chance: Chance): number {
  if (chance.next() < 0.7) return chance.between(1, SMALL_BYTES)
  return chance.between(SMALL_BYTES, 2.5 * PART_BYTES)
}

/** Times and measurements, as text that can be read. */
export function makeTable(chance: Chance): Uint8Array<ArrayBuffer> {
  const start = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n + BigInt(chance.between(0, 2 ** 40)) * 1000n
  const rows = Array.from(
    { length: chance.between(2, MAX_ROWS) },
    (_, tick) => `${start + BigInt(tick) * 10_000_000n},0.01,0.02,0.03,0.1,0.2,9.81`,
  )
  const head =
    '#timestamp [ns],w_x [rad s^-1],w_y [rad s^-1],w_z [rad s^-1],a_x [m s^-2],a_y [m s^-2],a_z [m s^-2]'
  return new TextEncoder().encode(`${[head, ...rows].join('\n')}\n`)
}

function noise(chance: Chance, length: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = chance.between(1, 2 ** 32 - 1)
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[index] = state
  }
  return new Uint8Array(words.buffer, 0, length)
}
