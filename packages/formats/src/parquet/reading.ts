import { setImmediate } from 'node:timers/promises'
import type { ColumnChunk, FileMetaData, RowGroup } from 'hyparquet'
import { openTally, report, type Tally } from '../linear/tally.ts'
import type { ScanOptions, Source, Visitor } from '../recording.ts'
import type { Column } from './columns.ts'
import { type Damaged, openDamaged } from './pages.ts'
import { readColumn } from './read-column.ts'
import { alignRows, type Rows } from './rows.ts'

/** A table that is being gone through, and what was met on the way. */
export type Reading = {
  source: Source
  visitor: Visitor
  options: ScanOptions
  metadata: FileMetaData
  /** Where the footer begins and the data ends. */
  footerAt: number
  damaged: Damaged
  /** Rows whose time is missing, no number, or too far from the others. */
  untimely: Tally
  told: number
  /** Rows that the row groups say they have and that were not found. */
  missing: number
}

type Opening = { source: Source; visitor: Visitor; options: ScanOptions; metadata: FileMetaData; at: number }

export function openReading({ source, visitor, options, metadata, at }: Opening): Reading {
  const damaged = openDamaged()
  return {
    source,
    visitor,
    options,
    metadata,
    footerAt: at,
    damaged,
    untimely: openTally(),
    told: 0,
    missing: 0,
  }
}

/** Ten days of 200 rows a second; pages of equal numbers could claim more than anyone can wait for. */
const MAX_ROWS = 200_000_000

/** The rows of each group, as values of `columns`, which are plain and numeric; the first of them leads. */
export async function* rowsOf(
  reading: Reading,
  columns: Column[],
): AsyncGenerator<{ group: RowGroup; rows: Rows }> {
  const { source, footerAt, damaged, options, visitor, metadata } = reading
  let seen = 0
  for (const [index, group] of metadata.row_groups.entries()) {
    const count = groupRows(group)
    const slices = columns.map((column) =>
      readColumn({ source, footerAt, damaged }, chunkOf(group, column.name), column, count),
    )
    let read = 0
    for await (const rows of alignRows(slices)) {
      options.signal.throwIfAborted()
      read += rows.count
      seen += rows.count
      if (seen > MAX_ROWS) break
      yield { group, rows }
      await setImmediate()
    }
    reading.missing += count - read
    visitor.progress((index + 1) / metadata.row_groups.length)
  }
}

export function groupRows({ num_rows }: RowGroup): number {
  const rows = Number(num_rows ?? 0)
  return Number.isSafeInteger(rows) && rows > 0 ? rows : 0
}

function chunkOf({ columns }: RowGroup, name: string): ColumnChunk | undefined {
  return columns.find(({ meta_data }) => {
    const path = meta_data?.path_in_schema
    return path?.length === 1 && path[0] === name
  })
}

export function reportReading(reading: Reading, timed: boolean) {
  const { visitor, metadata, damaged, untimely, told, missing } = reading
  const stated = Number(metadata.num_rows ?? 0)
  const rows = metadata.row_groups.reduce((sum, group) => sum + groupRows(group), 0)
  report(
    visitor,
    'chunk_corrupt',
    damaged.pages,
    `${damaged.pages.count} pages or columns are damaged, the first at byte ${damaged.pages.at}: ${damaged.reason}; ` +
      `${missing} of ${rows} rows are lost by it`,
    { value: missing },
  )
  if (missing > 0 && damaged.pages.count === 0) {
    const detail = `the row groups say that they have ${rows} rows, but ${missing} of them are not in the column of times`
    visitor.finding({ code: 'index_mismatch', detail, count: missing })
  }
  if (stated !== rows) {
    const detail = `the footer says that there are ${stated} rows, its row groups have ${rows}`
    visitor.finding({ code: 'index_mismatch', detail, value: rows, threshold: stated })
  }
  report(
    visitor,
    'timestamp_invalid',
    untimely,
    `${untimely.count} of ${rows} rows have no time, or one more than 104 days from the others, the first being row ` +
      `${untimely.at}; they are not told`,
  )
  if (timed && told + missing + untimely.count === 0) {
    visitor.finding({ code: 'recording_empty', detail: 'the table has columns, but no rows' })
  }
}
