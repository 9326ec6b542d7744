import type { Visitor } from '../recording.ts'
import { note, openTally, report } from './tally.ts'

// A clock that a damaged row cannot move. Rows come in the order of the file and their times mostly go forward. A row
// after a jump is held until those behind it agree with it (a real gap, a reboot) or go on where the clock was: then
// its time is not believed, and it is told at that of its neighbours.

/** Two numbers, because nanoseconds of Unix time do not fit into one. */
export type Instant = { sec: number; nano: number }

export type Row = Instant & {
  channel: number
  bytes: number
  /** Offset in the file, for the report. */
  at: number
  payload?: Uint8Array
  /** What the row marks, if it does. */
  label?: string
}

type Timeless = Pick<Row, 'channel' | 'bytes' | 'payload' | 'label'>

export type Timeline = {
  tell(row: Row): void
  /** A message without a time of its own, told at that of its neighbours. False where there is none yet. */
  tellHere(channel: number, bytes: number, payload?: Uint8Array): boolean
  /** What comes next is no neighbour of what came before. */
  restart(): void
  /** The time of the last message, from the origin. */
  now(): number | undefined
  origin(): Instant | undefined
  told(): number
  /** To be called once after the last row; tells what was held and what was refused. */
  end(): void
}

const NEIGHBOUR_S = 60
/** How far the last row of a file may lie ahead with nobody behind it to agree. */
const ALONE_S = 3600
/** Two to the 53 nanoseconds: what the face calls honest. */
const HONEST_S = 104 * 86_400
const AGREED_ROWS = 8
const MAX_HELD = 64

/** `begin` is the origin where the file states one; otherwise it is the first row that is believed. */
export function openTimeline(visitor: Visitor, begin?: Instant): Timeline {
  let origin = begin
  let clockSec = begin?.sec
  let now = begin && 0
  let told = 0
  /** From a jump on; the first has a time of its own, those without one have none to be judged by. */
  let held: (Row | Timeless)[] = []
  let heldSec = { first: 0, last: 0, count: 0 }
  /** Not believed before there was anything to tell them by. */
  const homeless: Timeless[] = []
  const refused = openTally()
  let refusedSec = 0
  if (begin) visitor.origin(toNs(begin))

  function accept(row: Row) {
    if (origin === undefined) {
      origin = { sec: row.sec, nano: row.nano }
      visitor.origin(toNs(origin))
      for (const before of homeless.splice(0)) tellAt(0, before)
    }
    now = (row.sec - origin.sec) * 1e9 + (row.nano - origin.nano)
    tellAt(now, row)
  }

  function refuse(row: Row) {
    if (refused.count === 0) refusedSec = row.sec
    note(refused, row.at, { t: now })
    place(row)
  }

  function place(row: Timeless) {
    if (now !== undefined) tellAt(now, row)
    else if (homeless.length < MAX_HELD) homeless.push(row)
  }

  function tellAt(t: number, { channel, bytes, payload, label }: Timeless) {
    told++
    visitor.message(channel, t, bytes)
    if (payload) visitor.content(channel, t, payload)
    if (label !== undefined) visitor.marker(t, label)
  }

  function hold(row: Row | Timeless) {
    held.push(row.payload ? { ...row, payload: row.payload.slice() } : row)
    if (held.length >= MAX_HELD) settle()
  }

  function release(verdict: (row: Row) => void) {
    const rows = held
    held = []
    for (const row of rows) {
      if ('sec' in row) verdict(row)
      else place(row)
    }
  }

  function believeHeld() {
    clockSec = heldSec.last
    release(accept)
  }

  /** Nobody comes to agree any more: what goes forward honestly is believed. */
  function settle() {
    if (held.length === 0) return
    const ahead = heldSec.first - (clockSec ?? heldSec.first)
    if (ahead >= 0 && ahead <= (heldSec.count > 1 ? HONEST_S : ALONE_S)) believeHeld()
    else release(refuse)
  }

  return {
    tell(row) {
      if (clockSec !== undefined && Math.abs(row.sec - clockSec) <= NEIGHBOUR_S) {
        if (held.length > 0) release(refuse)
        // A message may be older than the one before it; the clock does not go back for that.
        clockSec = Math.max(clockSec, row.sec)
        return accept(row)
      }
      if (held.length > 0 && !follows(heldSec.last, row.sec)) {
        // At first there is no clock to go by: two that agree are believed against one that does not.
        if (clockSec === undefined && heldSec.count > 1) believeHeld()
        else release(refuse)
      }
      if (held.length === 0) heldSec = { first: row.sec, last: row.sec, count: 0 }
      heldSec.last = row.sec
      heldSec.count++
      hold(row)
      if (heldSec.count >= AGREED_ROWS && held.length > 0) believeHeld()
    },

    tellHere(channel, bytes, payload) {
      const row = { channel, bytes, ...(payload && { payload }) }
      if (held.length > 0) hold(row)
      else if (now === undefined) return false
      else tellAt(now, row)
      return true
    },

    restart() {
      settle()
      clockSec = undefined
    },

    now: () => now,
    origin: () => origin,
    told: () => told,

    end() {
      settle()
      report(
        visitor,
        'timestamp_invalid',
        refused,
        `${refused.count} messages have times that those before and after them contradict, the first at byte ` +
          `${refused.at} (${refusedSec} s on the clock of the file); they are counted at the time of their neighbours`,
      )
    },
  }
}

export function toNs({ sec, nano }: Instant): bigint {
  return BigInt(sec) * 1_000_000_000n + BigInt(nano)
}

function follows(sec: number, next: number): boolean {
  return next - sec >= -NEIGHBOUR_S && next - sec <= HONEST_S
}
