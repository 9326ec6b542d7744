/** Columns as wide as their widest cell. */
export function table(rows: string[][]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  const line = (row: string[]) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${line(row)}\n`).join('')
}

export function json(value: object): string {
  return `${JSON.stringify(value)}\n`
}

export function time(date: Date | null): string {
  return date ? date.toISOString() : '-'
}
