import type { ScanOptions, Source, Visitor } from '../recording.ts'
import { type Block, sweep } from './sweep.ts'
import { note, openTally, report, type Tally } from './tally.ts'

// Records that stand one behind the other, each telling its own length. Where the next one is none, everything from
// inside the last record on is searched for a place from which several records follow each other again: the length
// of the last one may have been the damage.

export type Framing = {
  /** As many bytes as `measure` needs. */
  headBytes: number
  /** Length of the record at `at`, head included; 0 where there is none. `strict` while searching. */
  measure(block: Block, at: number, strict: boolean): number
  record(block: Block, at: number, length: number): void
  /** Where time stands, for the report. */
  now(): number | undefined
}

/** What was met between and behind the records; carried from one range of a file to the next. */
export type Gaps = {
  inside: Tally
  /** Bytes at the end that are no whole record, and how long the last record would have been (0: not known). */
  end: { at: number; bytes: number; wanted: number } | undefined
}

const CHAIN_RECORDS = 3

export function openGaps(): Gaps {
  return { inside: openTally(), end: undefined }
}

export async function scanFrames(
  source: Source,
  range: { from: number; to: number },
  visitor: Visitor,
  options: ScanOptions,
  framing: Framing,
  gaps: Gaps,
): Promise<void> {
  const { headBytes, measure, record } = framing
  /** Offset at which the records were lost; undefined while they follow each other. */
  let lostAt: number | undefined
  /** Offset of the last record: its own length may be the lie. */
  let previousAt = range.from

  await sweep(source, range, visitor, options, (block) => {
    const { bytes, offset, last } = block
    let at = 0
    for (;;) {
      if (lostAt !== undefined) {
        const found = findChain(framing, block, at)
        if (found < 0) {
          if (last) gaps.end = { at: lostAt, bytes: offset + bytes.length - lostAt, wanted: 0 }
          return -1 - found
        }
        const from = offset + found > lostAt ? lostAt : previousAt
        note(gaps.inside, from, { bytes: offset + found - from, t: framing.now() })
        previousAt = offset + found
        lostAt = undefined
        at = found
      }
      if (at + headBytes > bytes.length) {
        if (last && at < bytes.length)
          gaps.end = { at: offset + at, bytes: bytes.length - at, wanted: headBytes }
        return at
      }
      const length = measure(block, at, false)
      if (length > 0 && at + length <= bytes.length) {
        record(block, at, length)
        previousAt = offset + at
        at += length
      } else if (length > 0 && !last) {
        return at
      } else if (length > 0 && findChain(framing, block, at + 1) < 0) {
        gaps.end = { at: offset + at, bytes: bytes.length - at, wanted: length }
        return bytes.length
      } else {
        lostAt = offset + at
        at = Math.max(0, Math.min(at + 1, previousAt + headBytes - offset))
      }
    }
  })
}

/** Index of the first place from which records follow each other, or -1 minus the index up to which there is none. */
function findChain(framing: Framing, block: Block, from: number): number {
  for (let at = from; at + framing.headBytes <= block.bytes.length; at++) {
    const chained = isChain(framing, block, at)
    if (chained) return at
    if (chained === undefined) return -1 - at
  }
  return -1 - Math.max(from, block.bytes.length - framing.headBytes + 1)
}

/** Undefined where the block ends too early to tell. */
function isChain({ headBytes, measure }: Framing, block: Block, from: number): boolean | undefined {
  const end = block.bytes.length
  let at = from
  for (let records = 0; records < CHAIN_RECORDS; records++) {
    if (at + headBytes > end) return block.last ? at <= end && records >= (at === end ? 1 : 2) : undefined
    const length = measure(block, at, true)
    if (length === 0) return false
    at += length
  }
  return true
}

export function reportGaps(
  visitor: Visitor,
  { inside, end }: Gaps,
  kind: string,
  { size, told }: { size: number; told: number },
) {
  report(
    visitor,
    'chunk_corrupt',
    inside,
    `${inside.bytes} bytes in ${inside.count} places are no ${kind} records, the first at byte ${inside.at}; what ` +
      'stood there is lost, reading went on behind it',
    { value: inside.bytes },
  )
  if (!end) return
  const detail =
    end.wanted > 0
      ? `the last ${kind} record, at byte ${end.at}, is cut: ${end.bytes} of at least ${end.wanted} bytes are there`
      : `the last ${end.bytes} of ${size} bytes, from byte ${end.at}, are no ${kind} records`
  const code = end.wanted === 0 && told === 0 ? 'chunk_corrupt' : 'recording_truncated'
  visitor.finding({ code, detail, value: end.bytes })
}
