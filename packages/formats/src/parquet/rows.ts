import type { Slice } from './read-column.ts'
import type { Values } from './values.ts'

/** The same consecutive rows of several columns, each with where its values for them begin. */
export type Rows = { count: number; columns: { values: Values | undefined; from: number }[] }

type Cursor = { slices: AsyncGenerator<Slice>; slice: Slice | undefined; from: number }

/**
 * Columns side by side, though their pages end at different rows. The first column leads: where it ends the rows end,
 * and where another ends earlier that one has no values.
 */
export async function* alignRows(columns: AsyncGenerator<Slice>[]): AsyncGenerator<Rows> {
  const cursors: Cursor[] = columns.map((slices) => ({ slices, slice: undefined, from: 0 }))
  for (;;) {
    for (const cursor of cursors) await refill(cursor)
    const lead = cursors[0]?.slice
    if (!lead) return
    const count = Math.min(...cursors.map(left))
    yield { count, columns: cursors.map(({ slice, from }) => ({ values: slice?.values, from })) }
    for (const cursor of cursors) cursor.from += count
  }
}

async function refill(cursor: Cursor) {
  while (cursor.slice ? left(cursor) === 0 : cursor.from === 0) {
    const { value } = await cursor.slices.next()
    cursor.slice = value ?? undefined
    cursor.from = value ? 0 : Number.NaN
  }
}

function left({ slice, from }: Cursor): number {
  return slice ? slice.count - from : Number.POSITIVE_INFINITY
}

export function numberAt(
  { values, from }: { values: Values | undefined; from: number },
  row: number,
): number | undefined {
  const value = valueAt({ values, from }, row)
  return value === undefined ? undefined : Number(value)
}

export function valueAt(
  { values, from }: { values: Values | undefined; from: number },
  row: number,
): number | bigint | undefined {
  if (!values || values.present?.[from + row] === 0) return undefined
  return values.numbers[from + row]
}
