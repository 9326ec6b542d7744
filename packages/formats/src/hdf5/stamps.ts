import { timeName, toNs, unitBySize } from '../time-unit.ts'
import type { Library } from './library.ts'
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
  library: Library,
  { name, path, rows, type }: Rowed,
): Promise<Stamps | undefined> {
  const first = await library.read(path, 0, Math.min(rows, FIRST_ROWS))
  const values = Array.from(first, Number).filter(Number.isFinite)
  const stated = timeName(name.split('/').at(-1) ?? '')?.unitNs
  const unitNs = stated ?? unitBySize(values, !type.startsWith('float'))
  const firstNs = Array.from(first, (value: number | bigint) => toNs(value, unitNs)).find(
    (ns) => ns !== undefined,
  )
  if (firstNs === undefined) return undefined
  return {
    path,
    firstNs,
    async *slices() {
      for (let from = 0; from < rows; from += SLICE_ROWS) {
        const numbers = await library.read(path, from, Math.min(from + SLICE_ROWS, rows))
        yield Array.from(numbers, (value: number | bigint) => toNs(value, unitNs))
      }
    },
  }
}
