import type { Source } from '../recording.ts'

export type Range = { offset: number; length: number }

/** Ranges nearer to each other than this come by one read: a request costs more than the bytes between. */
const NEAR_BYTES = 32 * 2 ** 10
const JOINED_BYTES = 2 ** 20
const READS_UNDER_WAY = 8
const BYTES_UNDER_WAY = 16 * 2 ** 20

type UnderWay = { group: Range[]; start: number; length: number; read: Promise<Uint8Array> }

/** The bytes of ascending ranges, in their order, with several reads under way at once. */
export async function* fetchRanges(source: Source, ranges: Iterable<Range>): AsyncGenerator<Uint8Array> {
  const groups = joinNear(ranges)
  const underWay: UnderWay[] = []
  let bytesUnderWay = 0
  let next = groups.next()
  for (;;) {
    while (!next.done && underWay.length < READS_UNDER_WAY) {
      const [start, end] = extent(next.value)
      if (underWay.length > 0 && bytesUnderWay + end - start > BYTES_UNDER_WAY) break
      underWay.push(begin(source, next.value, start, end - start))
      bytesUnderWay += end - start
      next = groups.next()
    }
    const first = underWay.shift()
    if (!first) return
    const bytes = await first.read
    bytesUnderWay -= first.length
    for (const { offset, length } of first.group) {
      yield bytes.subarray(offset - first.start, offset - first.start + length)
    }
  }
}

function* joinNear(ranges: Iterable<Range>): Generator<Range[]> {
  let group: Range[] = []
  for (const range of ranges) {
    const [start, end] = extent(group)
    const near = range.offset - end <= NEAR_BYTES && range.offset + range.length - start <= JOINED_BYTES
    if (group.length > 0 && !near) {
      yield group
      group = []
    }
    group.push(range)
  }
  if (group.length > 0) yield group
}

function extent(group: Range[]): [start: number, end: number] {
  const first = group[0]
  const last = group.at(-1)
  return first && last ? [first.offset, last.offset + last.length] : [0, 0]
}

function begin(source: Source, group: Range[], start: number, length: number): UnderWay {
  const read = length > 0 ? source.read(start, length) : Promise.resolve(new Uint8Array())
  // A scan that stops early must not leave a failure behind that nobody hears.
  read.catch(() => {})
  return { group, start, length, read }
}
