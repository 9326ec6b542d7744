import { parseIsoTime } from '../iso-time.ts'
import { rowTime, type Separator, type TimeColumn } from './row.ts'

// What a table looks like, from its first lines: how columns are separated, which one is the time, and in what unit.

export type Layout = {
  separator: Separator
  columns: number
  time: TimeColumn
  /** The line that names the columns; empty where there is none. */
  header: string
  /** Whether it is the first row of the table, and not a comment. */
  hasHeaderRow: boolean
}

const separators: Separator[] = [',', '\t', ';', ' ']
const MIN_ROWS = 2
/** Rows may be damaged, and notes may stand below the table. */
const MOST = 0.8

/** Undefined where it is no such table. `isWhole`: the last line is complete although no line break follows. */
export function findLayout(head: Uint8Array, isWhole: boolean): Layout | undefined {
  const lines = Buffer.from(head).toString('latin1').replace(/^ï»¿/, '').split(/\r?\n/)
  // The last line may be cut, also at the end of the file; of few lines it is needed.
  if (!isWhole || lines.length > 4) lines.pop()
  const written = lines.filter((line) => line.trim() !== '')
  const clean = written.filter((line) => !/\p{Cc}/u.test(line.replaceAll('\t', '')))
  if (clean.length < written.length * MOST) return undefined
  for (const separator of separators) {
    const layout = layoutWith(separator, clean)
    if (layout) return layout
  }
  return undefined
}

function layoutWith(separator: Separator, lines: string[]): Layout | undefined {
  const comments = lines.filter(isComment)
  const table = lines.filter((line) => !isComment(line))
  const first = table[0] ?? ''
  const hasHeader = split(first, separator).every((field) => !/^[-+]?\.?\d/.test(field))
  const header = hasHeader ? first : (comments.at(-1) ?? '').replace(/^[#%\s]+/, '')
  const rows = table.slice(hasHeader ? 1 : 0)
  const columns = split(rows[0] ?? '', separator).length
  if (rows.length < MIN_ROWS || (columns < 2 && !parseIsoTime(rows[0] ?? ''))) return undefined
  if (rows.filter((row) => split(row, separator).length === columns).length < rows.length * MOST)
    return undefined
  const named = split(header, separator).length === columns ? header : ''
  const time = findTime(named === '' ? [] : split(named, separator), rows, separator)
  return time && { separator, columns, time, header: named, hasHeaderRow: hasHeader }
}

export function isComment(line: string): boolean {
  return line.startsWith('#') || line.startsWith('%')
}

/** For the few lines of a head; the rows themselves are never split. */
export function split(line: string, separator: Separator): string[] {
  const fields = separator === ' ' ? line.trim().split(/[ \t]+/) : line.split(separator)
  return fields.map((field) => field.trim().replaceAll('"', ''))
}

function findTime(names: string[], rows: string[], separator: Separator): TimeColumn | undefined {
  const values = (column: number) => rows.map((row) => split(row, separator)[column] ?? '')
  const sec = names.findIndex((name) => /(^|[^a-z])secs?$/i.test(name))
  const nanoColumn = names.findIndex((name) => /(^|[^a-z])(nsecs?|nanosecs?|nanoseconds)$/i.test(name))
  const candidates: (TimeColumn | undefined)[] = []
  if (sec >= 0 && nanoColumn >= 0) candidates.push({ kind: 'pair', column: sec, nanoColumn, power: 9 })
  for (const [column, name] of names.entries()) {
    const { bare, power } = parseName(name)
    if (isTimeName(bare)) candidates.push(columnOf(column, values(column), power))
  }
  // Without a name to go by, only a first column of Unix times is one.
  const firstColumn = columnOf(0, values(0), undefined)
  if (firstColumn && (firstColumn.kind === 'iso' || magnitude(values(0)) >= UNIX_S))
    candidates.push(firstColumn)
  return candidates.find((time) => time && goesForward(rows, separator, time))
}

const unitPowers: [RegExp, number][] = [
  [/^(?:ns|nsecs?|nanosecs?|nanoseconds)$/i, 0],
  [/^(?:us|µs|usecs?|microseconds)$/i, 3],
  [/^(?:ms|msecs?|milliseconds)$/i, 6],
  [/^(?:s|secs?|seconds)$/i, 9],
]

/** `#timestamp [ns]`, `time_us`, `Time (s)`, `TimeUS`, `header.stamp`, `t`. */
function parseName(name: string): { bare: string; power: number | undefined } {
  const plain = name.replace(/^[#%\s]+/, '')
  const [, bare = plain, unit = ''] =
    /^(.*?)[\s_.([]+([a-zµ]+)[)\]]*$/i.exec(plain) ?? /^(.*[a-z])(US|MS|NS)$/.exec(plain) ?? []
  const power = unitPowers.find(([pattern]) => pattern.test(unit))?.[1]
  return power === undefined ? { bare: plain, power } : { bare, power }
}

function isTimeName(bare: string): boolean {
  return /^(?:.*[^a-z])?(?:times?|timestamps?|time_stamp|stamp|date_?time|utc|epoch|t|secs?|seconds)$/i.test(
    bare,
  )
}

const UNIX_S = 1e8

function columnOf(column: number, values: string[], named: number | undefined): TimeColumn | undefined {
  const written = values.filter((value) => value !== '')
  if (written.filter((value) => parseIsoTime(value)).length > values.length * MOST)
    return { kind: 'iso', column }
  if (written.filter((value) => Number.isFinite(Number(value))).length <= values.length * MOST)
    return undefined
  const power = powerByMagnitude(written)
  // A header that makes the year 2300 of a stamp is wrong about the unit.
  const isSane = named !== undefined && magnitude(values) * 10 ** named < 1e19
  return { kind: 'number', column, power: isSane ? named : power }
}

/** Unix times tell their unit by their size; times from a start by their steps. */
function powerByMagnitude(values: string[]): number {
  const size = magnitude(values)
  if (size >= 1e17) return 0
  if (size >= 1e14) return 3
  if (size >= 1e11) return 6
  if (size >= UNIX_S || values.some((value) => /[.e]/i.test(value))) return 9
  const steps = values
    .map((value, index) => Number(value) - Number(values[index - 1] ?? Number.NaN))
    .filter((step) => step > 0)
    .sort((a, b) => a - b)
  const step = steps[steps.length >> 1] ?? 1
  return step >= 1e5 ? 0 : step >= 2000 ? 3 : step > 1 ? 6 : 9
}

/** A low one of the sizes: times from a start begin at zero, whatever they grow to. */
function magnitude(values: string[]): number {
  const sizes = values.map((value) => Math.abs(Number(value))).filter(Number.isFinite)
  return sizes.sort((a, b) => a - b)[Math.floor(sizes.length / 10)] ?? 0
}

function goesForward(rows: string[], separator: Separator, time: TimeColumn): boolean {
  const times = rows.flatMap((row) => {
    const bytes = Buffer.from(row, 'latin1')
    const told = rowTime(bytes, 0, bytes.length, separator, time)
    return told ? [told.sec + told.nano / 1e9] : []
  })
  const forward = times.filter((each, index) => each >= (times[index - 1] ?? each)).length
  const moves = times.some((each) => each !== times[0])
  return times.length > rows.length * MOST && forward >= times.length * MOST && moves
}
