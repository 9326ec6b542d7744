import { openRows } from './dataflash/rows.ts'
import { openGaps, reportGaps, scanFrames } from './linear/frames.ts'
import type { Reader } from './recording.ts'

// ArduPilot DataFlash: rows of `A3 95, type, columns`. A row of type 128 describes another type; every other row is
// as long as its description says. Times count from boot; the week and the millisecond of GPS tell when that was.

export const dataflash: Reader = {
  format: 'dataflash',
  recognises: (head) => head[0] === 0xa3 && head[1] === 0x95 && head[2] === 0x80,
  async scan(source, visitor, options) {
    const size = source.size()
    const rows = openRows(visitor)
    const gaps = openGaps()
    await scanFrames(source, { from: 0, to: size }, visitor, options, rows, gaps)
    const told = rows.end()
    reportGaps(visitor, gaps, 'DataFlash', { size, told })
    if (told === 0 && !gaps.end && gaps.inside.count === 0) {
      visitor.finding({
        code: 'recording_empty',
        detail: `${size} bytes of DataFlash hold no row with a time`,
      })
    }
    return { kind: 'boot', originUnixNs: rows.originUnixNs() }
  },
}
