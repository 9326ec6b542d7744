import type { FileMetaData, RowGroup, SchemaElement } from 'hyparquet'
import { MAX_CHANNELS } from '../recording.ts'

/** A column at the top of the table; it may hold others. */
export type Column = {
  name: string
  /** Of its values: `double`, `float[]` for lists, `struct` for several. */
  type: string
  element: SchemaElement
  /** One plain value in each row. */
  flat: boolean
}

export function topColumns({ schema }: FileMetaData): Column[] {
  const columns: Column[] = []
  const count = Math.min(schema[0]?.num_children ?? 0, MAX_CHANNELS)
  for (let index = 1; index < schema.length && columns.length < count; ) {
    const end = endOf(schema, index)
    const elements = schema.slice(index, end)
    const element = schema[index]
    if (element) {
      const flat =
        elements.length === 1 && element.type !== undefined && element.repetition_type !== 'REPEATED'
      columns.push({ name: nameOf(element), type: typeOf(elements), element, flat })
    }
    index = end
  }
  return columns
}

function endOf(schema: SchemaElement[], from: number): number {
  let index = from
  for (let open = 1; open > 0 && index < schema.length; index++) {
    open += Math.max(0, schema[index]?.num_children ?? 0) - 1
  }
  return index
}

function nameOf({ name }: SchemaElement): string {
  return name ?? ''
}

function typeOf(elements: SchemaElement[]): string {
  const leaves = elements.filter(({ type }) => type !== undefined)
  const repeated = elements.some(({ repetition_type }) => repetition_type === 'REPEATED')
  const name = leaves.length === 1 ? `${leaves[0]?.type}`.toLowerCase() : 'struct'
  return repeated ? `${name}[]` : name
}

/** How many bytes a row has in a column (in all columns, if none is named), taking the mean of the group. */
export function rowBytes(group: RowGroup, rows: number, name?: string): number {
  const chunks = group.columns.filter(({ meta_data }) => !name || meta_data?.path_in_schema[0] === name)
  const total = chunks.reduce(
    (sum, { meta_data }) => sum + Number(meta_data?.total_uncompressed_size ?? 0),
    0,
  )
  return rows > 0 && total > 0 ? Math.round(total / rows) : 0
}
