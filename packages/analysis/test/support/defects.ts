import fc from 'fast-check'
import { seeded } from '../../../formats/test/support/damage.ts'
import type { IssueCode } from '../../src/issue.ts'
import { imu, LENGTH_NS, lidar, type Message, odometry, type Sensor } from './robot.ts'

// Ways in which one sensor fails, each with what must be reported of it: code, and how far the value and the count may
// be from the truth.

const S = 1e9
const MS = 1e6

export type Expected = { code: IssueCode; value?: [number, within: number]; count?: [number, within: number] }
export type Defect = { name: string; apply(messages: Message[]): Message[]; expected: Expected[] }

/** A gap leaves a hole in the stamps too; longer ones than a hundred periods may be pauses. */
function lost(messages: number): Expected[] {
  return messages > 0 && messages < 99 ? [{ code: 'messages_dropped', count: [messages, 0] }] : []
}

const someSeconds = (min: number, max: number) =>
  fc.integer({ min: min * 1000, max: max * 1000 }).map((ms) => ms * MS)

export function defectsOf(sensor: Sensor): fc.Arbitrary<Defect> {
  const { periodNs, latencyNs } = sensor
  const total = Math.floor(LENGTH_NS / periodNs)
  const none = fc.constant<Defect>({
    name: 'nothing',
    apply: (messages: Message[]) => messages,
    expected: [],
  })

  const drops = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer()).map(([count, seed]): Defect => {
    const places = scattered(count, total, seed)
    return {
      name: `${count} messages dropped`,
      apply: (messages: Message[]) => messages.filter((_, n) => !places.has(n)),
      expected: [{ code: 'messages_dropped', count: [count, 0] }],
    }
  })

  const gap = fc.tuple(someSeconds(2, 9), someSeconds(20, 50)).map(([length, from]): Defect => {
    const inside = ({ stamp }: Message) => stamp > from && stamp < from + length
    const missing = Array.from({ length: total }, (_, n) => n * periodNs).filter(
      (stamp) => stamp > from && stamp < from + length,
    ).length
    return {
      name: `a gap of ${length / S} s at ${from / S} s`,
      apply: (messages: Message[]) => messages.filter((message) => !inside(message)),
      expected: [
        { code: 'message_gap', value: [(missing + 1) * periodNs, 5 * MS], count: [1, 0] },
        ...lost(missing),
      ],
    }
  })

  const offset = fc.integer({ min: -8000, max: -3 }).map(
    (ms): Defect => ({
      name: `stamps ${ms} ms off`,
      apply: (messages: Message[]) =>
        messages.map((message) => ({ ...message, stamp: message.stamp + ms * MS })),
      expected: [{ code: 'clock_offset_estimated', value: [ms * MS - latencyNs, 0.1 * MS] }],
    }),
  )

  const ahead = fc.integer({ min: 3, max: 8000 }).map(
    (ms): Defect => ({
      name: `stamps ${ms} ms ahead`,
      apply: (messages: Message[]) =>
        messages.map((message) => ({ ...message, stamp: message.stamp + ms * MS })),
      expected: [
        { code: 'clock_offset_estimated', value: [ms * MS - latencyNs, 0.1 * MS] },
        { code: 'stamp_in_future', value: [ms * MS - latencyNs, 0.1 * MS] },
      ],
    }),
  )

  const drift = fc.integer({ min: 60, max: 400 }).map(
    (ppm): Defect => ({
      name: `a clock that runs slow by ${ppm} ppm`,
      apply: (messages: Message[]) =>
        messages.map((message) => ({ ...message, stamp: message.stamp * (1 - ppm / 1e6) })),
      expected: [{ code: 'clock_drift', value: [-ppm, 3] }],
    }),
  )

  const jump = fc.tuple(fc.integer({ min: 40, max: 5000 }), someSeconds(20, 60)).map(
    ([ms, at]): Defect => ({
      name: `a clock that is set back by ${ms} ms at ${at / S} s`,
      apply: (messages: Message[]) =>
        messages.map((message) =>
          message.stamp < at ? message : { ...message, stamp: message.stamp - ms * MS },
        ),
      expected: [{ code: 'clock_jump', value: [-ms * MS, 1 * MS], count: [1, 0] }],
    }),
  )

  const swaps = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer()).map(([count, seed]): Defect => {
    const places = scattered(count, total, seed)
    return {
      name: `${count} neighbours swapped`,
      apply: (messages: Message[]) => messages.toSpliced(0, messages.length, ...swapped(messages, places)),
      expected: [{ code: 'out_of_order', count: [count, 0] }],
    }
  })

  const duplicates = fc.tuple(fc.integer({ min: 10, max: 40 }), fc.integer()).map(([count, seed]): Defect => {
    const places = scattered(count, total, seed)
    return {
      name: `${count} messages recorded twice`,
      apply: (messages: Message[]) =>
        messages.flatMap((message, n) => (places.has(n) ? [message, message] : [message])),
      expected: [{ code: 'duplicate_timestamps', count: [count, 0] }],
    }
  })

  const frozen = fc.constant<Defect>({
    name: 'stamps that stand still',
    apply: (messages: Message[]) => messages.map((message) => ({ ...message, stamp: 0 })),
    expected: [{ code: 'stamp_frozen' }],
  })

  const late = someSeconds(10, 30).map(
    (from): Defect => ({
      name: `nothing before ${from / S} s`,
      apply: (messages: Message[]) => messages.filter(({ t }) => t >= from),
      expected: [{ code: 'late_start', value: [from, periodNs] }],
    }),
  )

  const early = someSeconds(40, 70).map(
    (to): Defect => ({
      name: `nothing behind ${to / S} s`,
      apply: (messages: Message[]) => messages.filter(({ t }) => t <= to),
      expected: [{ code: 'early_end', value: [LENGTH_NS - to, 2 * lidar.periodNs] }],
    }),
  )

  const far = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer()).map(([count, seed]): Defect => {
    const places = scattered(count, total, seed)
    return {
      name: `${count} messages recorded in 1970`,
      apply: (messages: Message[]) =>
        messages.map((message, n) => (places.has(n) ? { ...message, t: -1.7e18 } : message)),
      expected: [{ code: 'timestamp_invalid', count: [count, 0] }],
    }
  })

  return fc.oneof(
    { weight: 3, arbitrary: none },
    drops,
    gap,
    offset,
    ahead,
    drift,
    jump,
    swaps,
    duplicates,
    frozen,
    late,
    early,
    far,
  )
}

/** So many places, none beside another, none near the ends. */
function scattered(count: number, total: number, seed: number): Set<number> {
  const random = seeded(seed)
  const places = new Set<number>()
  const width = Math.floor((total - 20) / count)
  for (let n = 0; n < count; n++) places.add(10 + n * width + Math.floor(random() * Math.max(1, width - 4)))
  return places
}

function swapped(messages: Message[], places: Set<number>): Message[] {
  const result = [...messages]
  for (const n of places) {
    const [first, second] = [messages[n], messages[n + 1]]
    if (first && second) result.splice(n, 2, second, first)
  }
  return result
}

/** All sensors silent at once. */
export const stall: fc.Arbitrary<Defect & { lengthNs: number; from: number }> = fc
  .tuple(someSeconds(2, 9), someSeconds(20, 50))
  .map(([lengthNs, from]) => ({
    name: `everything silent for ${lengthNs / S} s at ${from / S} s`,
    lengthNs,
    from,
    apply: (messages: Message[]) => messages.filter(({ t }) => t <= from || t >= from + lengthNs),
    expected: [
      { code: 'recorder_stall', value: [lengthNs, imu.periodNs * 2 + odometry.jitterNs], count: [1, 0] },
    ],
  }))
