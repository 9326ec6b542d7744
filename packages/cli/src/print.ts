import { stringifyExact } from '@tapedeck/sdk'

const GAP = '  '
const LEAST_WIDTH = 8

/** Columns as wide as their widest cell; on a terminal the widest give way until a line fits. */
export function table(rows: string[][], terminalWidth?: number): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, shown(cell).length)
  if (terminalWidth !== undefined) shrink(widths, terminalWidth)
  const line = (row: string[]) =>
    row
      .map((cell, index) => fit(shown(cell), widths[index] ?? 0))
      .join(GAP)
      .trimEnd()
  return rows.map((row) => `${line(row)}\n`).join('')
}

function shrink(widths: number[], terminalWidth: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1)
  while (total() > terminalWidth) {
    const widest = Math.max(...widths)
    if (widest <= LEAST_WIDTH) return
    widths[widths.indexOf(widest)] = widest - 1
  }
}

function fit(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width)
}

/** What others have written must not move the cursor. */
function shown(cell: string): string {
  return cell.replaceAll(/\p{Cc}/gu, ' ')
}

export function json(value: object): string {
  return `${stringifyExact(value)}\n`
}

export function time(date: Date | null): string {
  return date ? date.toISOString() : '-'
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function bytes(count: number): string {
  const step = count < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10))
  return `${(count / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}

/** `0:07`, `12:34`, `1:02:03`. */
export function clockTime(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds > 359_999) return '--:--'
  const whole = Math.round(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}
