import type { Framing } from '../linear/frames.ts'
import type { Block } from '../linear/sweep.ts'
import { note, openTally, report as reportTally } from '../linear/tally.ts'
import type { Instant } from '../linear/timeline.ts'
import type { Visitor } from '../recording.ts'
import type { Packets } from './packets.ts'

// The new form: blocks of `uint32 type, length, …, the same length again`. A section header tells the byte order,
// interface blocks the link type and the unit of time, packet blocks name their interface.

export const SECTION_HEADER = 0x0a0d0d0a
const INTERFACE = 1
const SIMPLE_PACKET = 3
const STATISTICS = 5
const ENHANCED_PACKET = 6
/** Names, systemd journal, secrets, and what makers have of their own. */
const passedOver = new Set([4, 9, 10, 0xbad, 0x40000bad])
const knownTypes = new Set([
  SECTION_HEADER,
  INTERFACE,
  SIMPLE_PACKET,
  STATISTICS,
  ENHANCED_PACKET,
  ...passedOver,
])

const BYTE_ORDER_MAGIC = 0x1a2b3c4d
const HEAD_BYTES = 12
const MAX_BLOCK_BYTES = 1 << 20
const MAX_INTERFACES = 4096

const END_OF_OPTIONS = 0
const OPTION_RESOLUTION = 9
const OPTION_OFFSET = 14
const OPTION_DROPPED = 5

type Interface = { linkType: number; snapBytes: number; ticksPerSecond: bigint; offsetS: number }

export function ngFraming(visitor: Visitor, packets: Packets): { framing: Framing; report(): void } {
  let little = true
  let interfaces: Interface[] = []
  const orphans = openTally()
  const unknown = openTally()
  let dropped = 0

  function measure({ bytes, view }: Block, at: number, strict: boolean): number {
    const order = view.getUint32(at, true) === SECTION_HEADER ? orderAt(view, at) : little
    if (order === undefined) return 0
    const length = view.getUint32(at + 4, order)
    if (length < HEAD_BYTES || length % 4 !== 0 || length > MAX_BLOCK_BYTES) return 0
    if (strict && !knownTypes.has(view.getUint32(at, order))) return 0
    const isWhole = at + length <= bytes.length
    return isWhole && view.getUint32(at + length - 4, order) !== length ? 0 : length
  }

  function record(block: Block, at: number, length: number) {
    const { view, offset } = block
    if (view.getUint32(at, true) === SECTION_HEADER) {
      little = orderAt(view, at) ?? little
      interfaces = []
      return
    }
    const type = view.getUint32(at, little)
    if (type === INTERFACE && length >= 20 && interfaces.length < MAX_INTERFACES) {
      interfaces.push(readInterface(view, at, length, little))
    } else if (type === ENHANCED_PACKET && length >= 32) enhanced(block, at, length)
    else if (type === SIMPLE_PACKET && length >= 16) simple(block, at, length)
    else if (type === STATISTICS && length >= 24) {
      const at64 = optionAt(view, at + 20, at + length - 4, little, OPTION_DROPPED, 8)
      // Each block counts from the beginning of the capture.
      if (at64 !== undefined) dropped = Math.max(dropped, Number(view.getBigUint64(at64, little)))
    } else if (!passedOver.has(type)) note(unknown, offset + at, { t: packets.now() })
  }

  function enhanced({ bytes, view, offset }: Block, at: number, length: number) {
    const from = interfaces[view.getUint32(at + 8, little)]
    const captured = view.getUint32(at + 20, little)
    if (!from || captured > length - 32) return note(orphans, offset + at, { t: packets.now() })
    const ticks =
      BigInt(view.getUint32(at + 12, little)) * 4294967296n + BigInt(view.getUint32(at + 16, little))
    packets.tell({
      frame: bytes.subarray(at + 28, at + 28 + captured),
      linkType: from.linkType,
      time: toInstant(ticks, from),
      wireBytes: view.getUint32(at + 24, little),
      at: offset + at,
    })
  }

  /** It belongs to the first interface and is as long as that one lets it be. */
  function simple({ bytes, view, offset }: Block, at: number, length: number) {
    const from = interfaces[0]
    if (!from) return note(orphans, offset + at, { t: packets.now() })
    const wireBytes = view.getUint32(at + 8, little)
    const captured = Math.min(wireBytes, from.snapBytes || wireBytes, length - 16)
    const frame = bytes.subarray(at + 12, at + 12 + captured)
    packets.tell({ frame, linkType: from.linkType, time: undefined, wireBytes, at: offset + at })
  }

  return {
    framing: { headBytes: HEAD_BYTES, now: packets.now, measure, record },
    report() {
      reportTally(
        visitor,
        'schema_missing',
        orphans,
        `${orphans.count} packets name an interface that was not described or are longer than their block, the first ` +
          `at byte ${orphans.at}; they are not counted`,
      )
      reportTally(
        visitor,
        'messages_undecodable',
        unknown,
        `${unknown.count} blocks are of a type or a size that is not known, the first at byte ${unknown.at}; they are ` +
          'skipped',
      )
      if (dropped > 0) {
        const detail = `the capture says that ${dropped} packets were dropped for want of room`
        visitor.finding({ code: 'messages_dropped', detail, value: dropped })
      }
    },
  }
}

function orderAt(view: DataView, at: number): boolean | undefined {
  if (view.getUint32(at + 8, true) === BYTE_ORDER_MAGIC) return true
  return view.getUint32(at + 8, false) === BYTE_ORDER_MAGIC ? false : undefined
}

function readInterface(view: DataView, at: number, length: number, little: boolean): Interface {
  const option = (code: number, bytes: number) =>
    optionAt(view, at + 16, at + length - 4, little, code, bytes)
  const resolutionAt = option(OPTION_RESOLUTION, 1)
  const offsetAt = option(OPTION_OFFSET, 8)
  const resolution = resolutionAt === undefined ? 6 : view.getUint8(resolutionAt)
  // The top bit tells powers of two from powers of ten.
  const base = resolution & 0x80 ? 2n : 10n
  return {
    linkType: view.getUint16(at + 8, little),
    snapBytes: view.getUint32(at + 12, little),
    ticksPerSecond: base ** BigInt(Math.min(resolution & 0x7f, 63)),
    offsetS: offsetAt === undefined ? 0 : Number(view.getBigInt64(offsetAt, little)),
  }
}

/** Where the value of an option begins, if it is there and long enough. */
function optionAt(view: DataView, from: number, to: number, little: boolean, wanted: number, bytes: number) {
  for (let at = from; at + 4 <= to; ) {
    const code = view.getUint16(at, little)
    const length = view.getUint16(at + 2, little)
    if (code === END_OF_OPTIONS || at + 4 + length > to) return undefined
    if (code === wanted) return length >= bytes ? at + 4 : undefined
    at += 4 + Math.ceil(length / 4) * 4
  }
  return undefined
}

function toInstant(ticks: bigint, { ticksPerSecond, offsetS }: Interface): Instant {
  const nano = ((ticks % ticksPerSecond) * 1_000_000_000n) / ticksPerSecond
  return { sec: Number(ticks / ticksPerSecond) + offsetS, nano: Number(nano) }
}
