import { cleanText } from '../bytes.ts'
import { note } from '../linear/tally.ts'
import { pickOrigin } from '../origin.ts'
import type { Timebase } from '../recording.ts'
import { isUnixNs, toNs, unitBySize } from '../time-unit.ts'
import { type Column, rowBytes } from './columns.ts'
import { groupRows, type Reading, rowsOf } from './reading.ts'
import { type Rows, valueAt } from './rows.ts'
import type { TimeColumn } from './time-column.ts'

// A table that is no dataset of a known kind: one channel, one message for each row.

const RELATIVE: Timebase = { kind: 'relative', originUnixNs: undefined }
/** As many rows tell the unit and the origin. */
const FIRST_ROWS = 1001

export async function tellTable(
  reading: Reading,
  columns: Column[],
  time: TimeColumn | undefined,
): Promise<Timebase> {
  const { visitor } = reading
  const channel = visitor.channel({
    topic: 'table',
    schema: '',
    schemaEncoding: '',
    schemaData: new Uint8Array(),
    encoding: 'parquet',
  })
  if (!time) {
    reportTimeless(reading, columns, channel)
    return RELATIVE
  }
  let clock: Clock | undefined
  let row = 0
  for await (const { group, rows } of rowsOf(reading, [time.column])) {
    const bytes = rowBytes(group, groupRows(group))
    const [times] = rows.columns
    if (!times?.values) reading.missing += rows.count
    else {
      if (!clock) {
        clock = openClock(rows, time)
        if (clock) visitor.origin(clock.originNs)
      }
      for (let index = 0; index < rows.count; index++) {
        const t = clock?.relative(valueAt(times, index))
        if (t === undefined) note(reading.untimely, row + index)
        else {
          reading.told++
          visitor.message(channel, t, bytes)
        }
      }
    }
    row += rows.count
  }
  return clock && isUnixNs(clock.originNs) ? { kind: 'unix' } : RELATIVE
}

/** No time, no message: rows told at a time of our own making would look like a recording. */
function reportTimeless({ visitor, metadata }: Reading, columns: Column[], channel: number) {
  const rows = metadata.row_groups.reduce((sum, group) => sum + groupRows(group), 0)
  const names = cleanText(
    Buffer.from(
      columns
        .slice(0, 20)
        .map(({ name }) => name)
        .join(', '),
    ),
    500,
  )
  const detail =
    `none of the ${columns.length} columns (${names}) says when a row was: expected is one of ` +
    `the type timestamp, or of numbers and the name timestamp or time; the ${rows} rows are not told`
  visitor.finding({ code: 'timestamp_invalid', detail, channel, count: rows })
}

type Clock = { originNs: bigint; relative(value: number | bigint | undefined): number | undefined }

/** Undefined where these rows have no times to begin with. */
function openClock(rows: Rows, { column, unitNs }: TimeColumn): Clock | undefined {
  const [times] = rows.columns
  const first = Array.from(
    { length: Math.min(rows.count, FIRST_ROWS) },
    (_, row) => times && valueAt(times, row),
  )
  const valid = first.filter((value) => value !== undefined && Number.isFinite(Number(value)))
  const whole = column.element.type !== 'FLOAT' && column.element.type !== 'DOUBLE'
  const unit = unitNs ?? unitBySize(valid.map(Number), whole)
  const originNs = pickOrigin(valid.map((value) => toNs(value ?? 0, unit)).filter((ns) => ns !== undefined))
  if (originNs === undefined) return undefined
  return {
    originNs,
    relative(value) {
      const ns = value === undefined ? undefined : toNs(value, unit)
      const t = ns === undefined ? Number.NaN : Number(ns - originNs)
      return Math.abs(t) <= Number.MAX_SAFE_INTEGER ? t : undefined
    },
  }
}
