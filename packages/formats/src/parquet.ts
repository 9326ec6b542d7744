import { topColumns } from './parquet/columns.ts'
import { readFooter } from './parquet/footer.ts'
import { lerobotColumns, tellEpisodes } from './parquet/lerobot.ts'
import { openReading, reportReading } from './parquet/reading.ts'
import { tellTable } from './parquet/table.ts'
import { findTimeColumn } from './parquet/time-column.ts'
import { verifyPages } from './parquet/verify.ts'
import type { Reader, Timebase } from './recording.ts'

// Parquet: tables of columns. What a row holds is not looked at, only when it was: of all columns the ones that say so
// are read. A dataset of LeRobot is told as its observations and actions, any other table as one channel.

const RELATIVE: Timebase = { kind: 'relative', originUnixNs: undefined }

export const parquet: Reader = {
  format: 'parquet',
  recognises: (head) => ['PAR1', 'PARE'].includes(String.fromCharCode(...head.subarray(0, 4))),
  async scan(source, visitor, options) {
    const footer = await readFooter(source)
    if ('code' in footer) {
      visitor.finding(footer)
      return RELATIVE
    }
    const columns = topColumns(footer.metadata)
    const reading = openReading({ source, visitor, options, ...footer })
    const lerobot = lerobotColumns(columns)
    const time = findTimeColumn(columns)
    const timebase = lerobot ? await tellEpisodes(reading, lerobot) : await tellTable(reading, columns, time)
    const read = lerobot ? [lerobot.time, lerobot.episode, lerobot.frame] : [time?.column]
    if (options.full) await verifyPages(reading, new Set(read.map((column) => column?.name)))
    reportReading(reading, time !== undefined)
    return timebase
  },
}
