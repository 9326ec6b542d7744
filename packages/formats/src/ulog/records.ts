import { cleanText } from '../bytes.ts'
import { medianInstant } from '../gps-time.ts'
import type { Framing } from '../linear/frames.ts'
import { openRoster } from '../linear/roster.ts'
import type { Block } from '../linear/sweep.ts'
import { note, openTally, report } from '../linear/tally.ts'
import { type Instant, openTimeline, toNs } from '../linear/timeline.ts'
import { MAX_TOPIC_CHARACTERS, type Visitor } from '../recording.ts'
import { openDefinitions } from './definition.ts'

// The records of a ULog file. Definitions (F) come first, a subscription (A) gives a definition a short id, data (D)
// carries that id. Parameters and information about the vehicle are passed over.

export type Records = Framing & {
  /** Tells what was held back and what was wrong; returns how many messages were told. */
  end(): number
  originUnixNs(): bigint | undefined
}

type Subscription = {
  topic: string
  channel: number | undefined
  minBytes: number
  maxBytes: number
  /** Where its stamp stands in the data; undefined where it has none that can be read. */
  timeAt: number | undefined
  utcAt: number | undefined
  fixAt: number | undefined
}

const type = Object.fromEntries([...'BFIMPQARDLCSO'].map((letter) => [letter, letter.charCodeAt(0)]))
const leastBytes = new Map(
  Object.entries({ B: 40, F: 3, I: 2, M: 3, P: 2, Q: 3, A: 4, R: 2, D: 3, L: 9, C: 11, S: 8, O: 2 }).map(
    ([letter, bytes]) => [letter.charCodeAt(0), bytes],
  ),
)
const sync = [0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12]
const HEAD_BYTES = 3
const MAX_DATA_BYTES = 65_535
const MAX_UTC_SAMPLES = 255
const NAMED_TOPICS = 5
const KEPT_NS = 1e9
const LIKELY_BYTES = 4096
const gpsTopics = new Set(['vehicle_gps_position', 'sensor_gps'])

/** `headerUs`: when the log began, where the header tells. */
export function openRecords(visitor: Visitor, headerUs: number | undefined): Records {
  const startUs = headerUs ?? 0
  const timeline = openTimeline(visitor, headerUs === undefined ? undefined : toInstant(headerUs))
  const roster = openRoster(visitor)
  const definitions = openDefinitions()
  const subscriptions = new Map<number, Subscription>()
  /** When the clock stood at zero, by each fix. */
  const boots: Instant[] = []
  const early = openTally()
  const earlyTopics = new Set<string>()
  const dropouts = openTally()
  const unknown = openTally()
  const orphans = openTally()
  const unstamped = openTally()
  const conflicts = openTally()

  function measure({ bytes, view }: Block, at: number, strict: boolean): number {
    const size = view.getUint16(at, true)
    const letter = bytes[at + 2] ?? 0
    const least = leastBytes.get(letter)
    const length = HEAD_BYTES + size
    // The format asks readers to skip types that they do not know; all so far are capital letters.
    if (least === undefined) return !strict && letter >= 0x41 && letter <= 0x5a && size >= 2 ? length : 0
    if (size < least) return 0
    if (letter === type.D) {
      const subscription = subscriptions.get(view.getUint16(at + 3, true))
      if (!subscription) return strict ? 0 : length
      return size - 2 >= subscription.minBytes && size - 2 <= subscription.maxBytes ? length : 0
    }
    if (letter === type.S) {
      return sync.every((byte, index) => (bytes[at + 3 + index] ?? byte) === byte) ? length : 0
    }
    return isLikely(letter, bytes[at + 3] ?? 0, size, strict) ? length : 0
  }

  function record(block: Block, at: number, length: number) {
    const { bytes, view, offset } = block
    switch (bytes[at + 2]) {
      case type.D:
        return data(block, at, length)
      case type.L:
        return loggedText(block, at, length, 4)
      case type.C:
        return loggedText(block, at, length, 6)
      case type.A:
        return subscribe(block, at, length)
      case type.R:
        return void subscriptions.delete(view.getUint16(at + 3, true))
      case type.O:
        return note(dropouts, offset + at, { bytes: view.getUint16(at + 3, true), t: timeline.now() })
      case type.F:
        return define(bytes.subarray(at + 3, at + length), offset + at)
      default:
        if (!leastBytes.has(bytes[at + 2] ?? 0)) note(unknown, offset + at, { t: timeline.now() })
    }
  }

  function data({ bytes, view, offset }: Block, at: number, length: number) {
    const subscription = subscriptions.get(view.getUint16(at + 3, true))
    if (!subscription) return note(orphans, offset + at, { t: timeline.now() })
    const { channel, timeAt, utcAt, fixAt, topic } = subscription
    if (channel === undefined) return roster.turnAway(offset + at)
    const payload = bytes.subarray(at + 5, at + length)
    if (timeAt === undefined || timeAt + 8 > payload.length) {
      note(unstamped, offset + at, { t: timeline.now() })
      return void timeline.tellHere(channel, payload.length, payload)
    }
    const us = microseconds(view, at + 5 + timeAt)
    tell({ channel, topic, us, at: offset + at, payload })
    // The first fixes of a flight say it as well as all of them.
    if (utcAt === undefined || utcAt + 8 > payload.length || boots.length >= MAX_UTC_SAMPLES) return
    const utcUs = microseconds(view, at + 5 + utcAt)
    const hasFix = (payload[fixAt ?? -1] ?? 3) >= 2
    if (hasFix && utcUs > 1e15 && utcUs < 4.1e15) boots.push(toInstant(utcUs - us))
  }

  function loggedText({ bytes, view, offset }: Block, at: number, length: number, timeAt: number) {
    const channel = roster.channel('log', () => ({
      schema: '',
      schemaEncoding: '',
      schemaData: new Uint8Array(),
      encoding: 'text',
    }))
    if (channel === undefined) return roster.turnAway(offset + at)
    const payload = bytes.subarray(at + timeAt + 8, at + length)
    tell({ channel, topic: 'log', us: microseconds(view, at + timeAt), at: offset + at, payload })
  }

  function tell(message: { channel: number; topic: string; us: number; at: number; payload: Uint8Array }) {
    const { channel, topic, us, at, payload } = message
    if (us >= startUs) return timeline.tell({ channel, ...toInstant(us), bytes: payload.length, at, payload })
    timeline.tellHere(channel, payload.length, payload)
    // At first PX4 writes what it has kept of every topic, however old: no fault.
    if ((timeline.now() ?? 0) < KEPT_NS) return
    note(early, at, { t: timeline.now() })
    if (earlyTopics.size < NAMED_TOPICS) earlyTopics.add(topic)
  }

  function subscribe({ bytes, view }: Block, at: number, length: number) {
    const multi = bytes[at + 3] ?? 0
    const name = Buffer.from(bytes.subarray(at + 6, at + length)).toString('latin1')
    const schema = cleanText(Buffer.from(name), MAX_TOPIC_CHARACTERS)
    const topic = multi === 0 ? schema : `${schema.slice(0, MAX_TOPIC_CHARACTERS - 4)}/${multi}`
    const layout = definitions.layout(name)
    const isGps = gpsTopics.has(name)
    subscriptions.set(view.getUint16(at + 4, true), {
      topic,
      channel: roster.channel(topic, () => ({
        schema,
        schemaEncoding: '',
        schemaData: definitions.text(name),
        encoding: 'ulog',
      })),
      minBytes: layout?.minBytes ?? 0,
      maxBytes: layout?.maxBytes ?? MAX_DATA_BYTES,
      timeAt: layout?.offsetOf('timestamp', 'uint64_t'),
      utcAt: isGps ? layout?.offsetOf('time_utc_usec', 'uint64_t') : undefined,
      fixAt: isGps ? layout?.offsetOf('fix_type', 'uint8_t') : undefined,
    })
  }

  function define(text: Uint8Array, at: number) {
    const outcome = definitions.add(Buffer.from(text).toString('latin1'))
    if (outcome === 'conflict') note(conflicts, at)
    if (outcome === 'full') note(orphans, at)
    if (outcome === 'damaged') note(unknown, at)
  }

  return {
    headBytes: HEAD_BYTES + 2,
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
        'timestamp_invalid',
        early,
        `${early.count} messages are stamped before the log began at ${startUs} µs, the first at byte ${early.at} ` +
          `(${[...earlyTopics].join(', ')}); they are told at the time of their neighbours in the file`,
      )
      report(
        visitor,
        'timestamp_invalid',
        unstamped,
        `${unstamped.count} messages have no uint64_t timestamp, the first at byte ${unstamped.at}; they are told at ` +
          'the time of their neighbours in the file',
      )
      report(
        visitor,
        'messages_dropped',
        dropouts,
        `the logger could not keep up ${dropouts.count} times and lost ${dropouts.bytes} ms of data`,
        { value: dropouts.bytes },
      )
      report(
        visitor,
        'messages_undecodable',
        unknown,
        `${unknown.count} records are not what any type of record looks like, the first at byte ${unknown.at}; they are ` +
          'skipped',
      )
      report(
        visitor,
        'schema_missing',
        orphans,
        `${orphans.count} records belong to no subscription or definition that was read, the first at byte ` +
          `${orphans.at}; they are not counted`,
      )
      report(
        visitor,
        'schema_conflict',
        conflicts,
        `${conflicts.count} definitions contradict one of the same name before, the first at byte ${conflicts.at}; ` +
          'the earlier one is used',
      )
      return timeline.told()
    },
  }
}

/** Whether the byte behind the head is one that such a record can begin with: data with one bit turned looks alike. */
function isLikely(letter: number, first: number, size: number, strict: boolean): boolean {
  // A level, as a digit or as a number.
  if (letter === type.L || letter === type.C) return first < 8 || (first >= 0x30 && first < 0x38)
  // The length of the key.
  if (letter === type.I || letter === type.P) return first > 0 && first < size
  return !strict || size < LIKELY_BYTES
}

/** Exact up to 285 years. */
export function microseconds(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 4294967296 + view.getUint32(at, true)
}

export function toInstant(us: number): Instant {
  return { sec: Math.floor(us / 1e6), nano: (us % 1e6) * 1000 }
}
