import { note } from '../linear/tally.ts'
import { timeName, toNs, unitBySize } from '../time-unit.ts'
import { attempt, type Numbers } from './library.ts'
import type { Measurement } from './measurement.ts'
import type { Rowed } from './tree.ts'

/** A dataset that says when rows were. */
export type Stamps = {
  path: string
  firstNs: bigint
  /** Undefined for what is no time. */
  slices(): AsyncGenerator<(bigint | undefined)[]>
}

const SLICE_ROWS = 1 << 16
/** As many tell the unit. */
const FIRST_ROWS = 1001

/** Undefined where there are no times in it after all. */
export async function openStamps(
  { library, broken }: Measurement,
  { name, path, rows, type }: Rowed,
): Promise<Stamps | undefined> {
  const first = await attempt(library.read(path, 0, Math.min(rows, FIRST_ROWS)))
  if (!first) {
    note(broken, 0)
    return undefined
  }
  const values = Array.from(first, Number).filter(Number.isFinite)
  const unitNs =
    timeName(name.split('/').at(-1) ?? '')?.unitNs ?? unitBySize(values, !type.startsWith('float'))
  const times = (numbers: Numbers) => Array.from(numbers, (value: number | bigint) => toNs(value, unitNs))
  const firstNs = times(first).find((ns) => ns !== undefined)
  if (firstNs === undefined) return undefined
  return {
    path,
    firstNs,
    async *slices() {
      for (let from = 0; from < rows; from += SLICE_ROWS) {
        const count = Math.min(SLICE_ROWS, rows - from)
        const numbers = await attempt(library.read(path, from, from + count))
        if (!numbers) note(broken, 0)
        yield numbers ? times(numbers) : Array.from({ length: count }, () => undefined)
      }
    },
  }
}
