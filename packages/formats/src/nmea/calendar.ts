import type { Instant, Row, Timeline } from '../linear/timeline.ts'
import type { Timebase } from '../recording.ts'
import type { Told } from './sentence.ts'

// Most sentences tell the time of day and few the date. What comes before the first date is held; then every time is
// put on the day on which it lies nearest to the one before it, so midnight passes by itself.

export type Calendar = {
  tell(row: Omit<Row, 'sec' | 'nano'>, told: Told): void
  end(): void
  timebase(): Timebase
  /** Messages that came before any time at all; they are not told. */
  untimed: { count: number; at: number }
}

type Held = { row: Omit<Row, 'sec' | 'nano'>; time: Instant | undefined }

const DAY_S = 86_400
/** Some minutes of a receiver that looks for satellites. */
const MAX_HELD = 4096

export function openCalendar(timeline: Timeline): Calendar {
  let held: Held[] | undefined = []
  let current: Instant | undefined
  /** A date that the receiver did not stand by; better than none. */
  let doubtful: Instant | undefined
  let hasDate = false
  let shiftS: number | undefined
  const untimed = { count: 0, at: 0 }

  function tellNow(row: Held['row']) {
    if (current) return timeline.tell({ ...row, ...current })
    if (untimed.count++ === 0) untimed.at = row.at
  }

  /** `known`: the time of the last row that is held; the others lie before it. */
  function release(known: Instant | undefined) {
    const rows = held ?? []
    held = undefined
    let next = known
    const days = rows.toReversed().map(({ time }) => {
      if (time) next = { sec: nearest(time.sec, next?.sec ?? time.sec), nano: time.nano }
      return time && next
    })
    current = days.findLast((time) => time !== undefined)
    for (const [index, { row }] of rows.entries()) {
      current = days.at(-1 - index) ?? current
      tellNow(row)
    }
  }

  /** No date is coming: a doubtful one has to do, or none. */
  function settle() {
    if (!held) return
    hasDate = doubtful !== undefined
    release(doubtful)
  }

  return {
    untimed,

    tell(row, { time, day, valid }) {
      const exact = time && day !== undefined ? { sec: day + time.sec, nano: time.nano } : undefined
      if (held) {
        held.push({ row: row.payload ? { ...row, payload: row.payload.slice() } : row, time })
        if (exact) doubtful = exact
        if (exact && valid) hasDate = true
        if (hasDate) release(exact)
        else if (held.length >= MAX_HELD) settle()
        return
      }
      if (exact && valid && !hasDate) shiftS ??= exact.sec - nearest(time?.sec ?? 0, current?.sec ?? 0)
      if (exact && valid && hasDate) current = exact
      else if (time) current = { sec: nearest(time.sec, current?.sec ?? time.sec), nano: time.nano }
      tellNow(row)
    },

    end: settle,

    timebase() {
      if (hasDate) return { kind: 'unix' }
      const origin = timeline.origin()
      const unix = origin && shiftS !== undefined ? { ...origin, sec: origin.sec + shiftS } : undefined
      const originUnixNs = unix && BigInt(unix.sec) * 1_000_000_000n + BigInt(unix.nano)
      return { kind: 'relative', originUnixNs }
    },
  }
}

/** The moment nearest to `sec` at which a clock shows this time of day. */
function nearest(secondOfDay: number, sec: number): number {
  return secondOfDay + Math.round((sec - secondOfDay) / DAY_S) * DAY_S
}
