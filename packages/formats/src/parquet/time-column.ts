import type { SchemaElement } from 'hyparquet'
import { timeName } from '../time-unit.ts'
import type { Column } from './columns.ts'

/** The column that says when a row was, and how its numbers are meant. */
export type TimeColumn = {
  column: Column
  /** Nanoseconds in one; undefined where only the size of the numbers tells. */
  unitNs: bigint | undefined
}

/** One that is a time by type and by name, else by name, else by type; of equals the first. */
export function findTimeColumn(columns: Column[]): TimeColumn | undefined {
  const candidates = columns.filter(isNumeric).map((column) => {
    const named = timeName(column.name)
    const byType = typeUnitNs(column.element)
    const rank = (named ? 2 : 0) + (byType === undefined ? 0 : 1)
    return { column, unitNs: byType ?? named?.unitNs, rank }
  })
  const best = Math.max(1, ...candidates.map(({ rank }) => rank))
  return candidates.find(({ rank }) => rank === best)
}

function isNumeric({ flat, element: { type, logical_type } }: Column): boolean {
  const other =
    logical_type?.type === 'DECIMAL' || logical_type?.type === 'DATE' || logical_type?.type === 'TIME'
  return flat && !other && ['INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE'].includes(type ?? '')
}

function typeUnitNs({ type, logical_type, converted_type }: SchemaElement): bigint | undefined {
  if (type === 'INT96') return 1n
  if (converted_type === 'TIMESTAMP_MILLIS') return 1_000_000n
  if (converted_type === 'TIMESTAMP_MICROS') return 1000n
  if (logical_type?.type !== 'TIMESTAMP') return undefined
  return { MILLIS: 1_000_000n, MICROS: 1000n, NANOS: 1n }[logical_type.unit]
}
