import { cleanText } from '../bytes.ts'
import { gpsToUnix, medianInstant } from '../gps-time.ts'
import type { Framing } from '../linear/frames.ts'
import { openRoster } from '../linear/roster.ts'
import type { Block } from '../linear/sweep.ts'
import { note, openTally, report } from '../linear/tally.ts'
import { type Instant, openTimeline, type Row, toNs } from '../linear/timeline.ts'
import { MAX_TOPIC_CHARACTERS, type Visitor } from '../recording.ts'
import { FMT, FMT_BYTES, fixedText, HEAD_BYTES, type Kind, readKind } from './kind.ts'

export type Rows = Framing & {
  /** Tells what was held back and what was wrong; returns how many messages were told. */
  end(): number
  originUnixNs(): bigint | undefined
}

/** Rows about rows; they are read, not told. */
const descriptions = new Set(['FMT', 'FMTU', 'UNIT', 'MULT'])
const MAX_GPS_SAMPLES = 255
const NO_WEEK = 1000

/** The events of ArduPilot that part a flight; the others keep their number. */
const eventNames = new Map([
  [10, 'armed'],
  [11, 'disarmed'],
  [15, 'auto armed'],
  [18, 'land complete'],
  [28, 'not landed'],
])

export function openRows(visitor: Visitor): Rows {
  const timeline = openTimeline(visitor)
  const roster = openRoster(visitor)
  const kinds: (Kind | undefined)[] = []
  /** When the clock stood at zero, by each fix. */
  const boots: Instant[] = []
  const unknown = openTally()
  const damaged = openTally()
  const untimed = openTally()

  function measure({ bytes, offset }: Block, at: number, strict: boolean): number {
    if (bytes[at] !== 0xa3 || bytes[at + 1] !== 0x95) return 0
    const type = bytes[at + 2] ?? 0
    if (type === FMT) return FMT_BYTES
    const length = kinds[type]?.length
    if (length === undefined && !strict) note(unknown, offset + at, { t: timeline.now() })
    return length ?? 0
  }

  function record(block: Block, at: number, length: number) {
    const type = block.bytes[at + 2] ?? 0
    if (type === FMT) return describe(block, at)
    const kind = kinds[type]
    if (!kind) return
    if (kind.name === 'FMTU') return describeUnits(block, at, kind)
    if (descriptions.has(kind.name)) return
    const channel = channelOf(block, at, kind)
    if (channel === undefined) return roster.turnAway(block.offset + at)
    const payload = block.bytes.subarray(at + HEAD_BYTES, at + length)
    const us = readTime(block, at, kind)
    if (us === undefined) {
      if (!timeline.tellHere(channel, payload.length, payload)) note(untimed, block.offset + at)
      return
    }
    const row: Row = { channel, ...toInstant(us), bytes: payload.length, at: block.offset + at, payload }
    const label = labelOf(block, at, kind)
    if (label !== undefined) row.label = label
    timeline.tell(row)
    if (kind.name === 'GPS' && boots.length < MAX_GPS_SAMPLES) readGps(block, at, kind, us)
  }

  function describe(block: Block, at: number) {
    const { type, kind } = readKind(block, at)
    if (!kind) return note(damaged, block.offset + at)
    const known = kinds[type]
    if (known?.text === kind.text) return
    kinds[type] = kind
  }

  /** FMTU names the unit of every column of a kind by a letter; the unit `#` is an instance. */
  function describeUnits(block: Block, at: number, kind: Kind) {
    const typeAt = kind.column('FmtType', 'B')
    const unitsAt = kind.column('UnitIds', 'N')
    const described = typeAt === undefined ? undefined : kinds[block.view.getUint8(at + typeAt)]
    if (!described || unitsAt === undefined) return
    const units = fixedText(block.bytes.subarray(at + unitsAt, at + unitsAt + 16))
    const column = described.column(described.labels[units.indexOf('#')] ?? '', 'bBM')
    if (column !== undefined) described.instanceAt = column
  }

  function channelOf({ view }: Block, at: number, kind: Kind): number | undefined {
    const instance = kind.instanceAt === undefined ? 0 : view.getUint8(at + kind.instanceAt)
    const known = kind.channels.get(instance)
    if (known !== undefined) return known
    const name = cleanText(Buffer.from(kind.name), MAX_TOPIC_CHARACTERS)
    const channel = roster.channel(instance === 0 ? name : `${name}/${instance}`, () => ({
      schema: name,
      schemaEncoding: '',
      schemaData: Buffer.from(kind.text, 'latin1'),
      encoding: 'dataflash',
      ...(name === 'PARM' && { latched: true }),
    }))
    if (channel !== undefined) kind.channels.set(instance, channel)
    return channel
  }

  function readGps({ view }: Block, at: number, kind: Kind, us: number) {
    const weekAt = kind.column('GWk', 'H') ?? kind.column('Week', 'H')
    const msAt = kind.column('GMS', 'I') ?? kind.column('TimeMS', 'I')
    const statusAt = kind.column('Status', 'B')
    if (weekAt === undefined || msAt === undefined) return
    const week = view.getUint16(at + weekAt, true)
    if (week < NO_WEEK || (statusAt !== undefined && view.getUint8(at + statusAt) < 3)) return
    const unix = gpsToUnix(week, view.getUint32(at + msAt, true))
    boots.push(toInstant(unix.sec * 1e6 + unix.nano / 1000 - us))
  }

  return {
    headBytes: HEAD_BYTES,
    now: timeline.now,
    measure,
    record,

    originUnixNs() {
      const boot = medianInstant(boots)
      const origin = timeline.origin()
      return boot && origin && toNs(boot) + toNs(origin)
    },

    end() {
      timeline.end()
      roster.report(visitor)
      report(
        visitor,
        'schema_missing',
        unknown,
        `${unknown.count} rows are of a type that no FMT row describes, the first at byte ${unknown.at}; they are lost`,
      )
      report(
        visitor,
        'schema_conflict',
        damaged,
        `${damaged.count} FMT rows contradict themselves (length and format), the first at byte ${damaged.at}; rows ` +
          'of that type are lost',
      )
      report(
        visitor,
        'timestamp_invalid',
        untimed,
        `${untimed.count} rows have no time and stand before any that has one, the first at byte ${untimed.at}; they ` +
          'are not counted',
      )
      return timeline.told()
    },
  }
}

function readTime({ view }: Block, at: number, { time }: Kind): number | undefined {
  if (!time) return undefined
  if (time.unit === 'ms') return view.getUint32(at + time.at, true) * 1000
  return view.getUint32(at + time.at + 4, true) * 4294967296 + view.getUint32(at + time.at, true)
}

function labelOf({ view }: Block, at: number, kind: Kind): string | undefined {
  if (kind.name === 'MODE') {
    const modeAt = kind.column('Mode', 'MB')
    return modeAt === undefined ? undefined : `mode ${view.getUint8(at + modeAt)}`
  }
  if (kind.name !== 'EV') return undefined
  const idAt = kind.column('Id', 'BM')
  if (idAt === undefined) return undefined
  const id = view.getUint8(at + idAt)
  return eventNames.get(id) ?? `event ${id}`
}

function toInstant(us: number): Instant {
  return { sec: Math.floor(us / 1e6), nano: (us % 1e6) * 1000 }
}
