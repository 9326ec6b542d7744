import { openGaps, reportGaps, scanFrames } from './linear/frames.ts'
import { note } from './linear/tally.ts'
import type { Reader, Source, Visitor } from './recording.ts'
import { microseconds, openRecords } from './ulog/records.ts'

// PX4 ULog: sixteen bytes of header, then records of `uint16 size, char type`. All times count from boot, in
// microseconds; the log begins at the one in the header, and GPS tells when that was.

export const ulog: Reader = {
  format: 'ulog',
  recognises: (head) => magic.every((byte, index) => head[index] === byte),
  async scan(source, visitor, options) {
    const size = source.size()
    if (size < HEADER_BYTES) return tooShort(visitor, size)
    const { headerUs, segments } = await readHeader(source, visitor)
    const records = openRecords(visitor, headerUs)
    const gaps = openGaps()
    for (const [from, to] of segments) {
      await scanFrames(source, { from, to }, visitor, options, records, gaps)
      if (to === size || !gaps.end) continue
      // A log that was cut and then appended to: the record before the seam is lost, the file goes on.
      note(gaps.inside, gaps.end.at, { bytes: gaps.end.bytes, t: records.now() })
      gaps.end = undefined
    }
    const told = records.end()
    reportGaps(visitor, gaps, 'ULog', { size, told })
    if (told === 0 && !gaps.end && gaps.inside.count === 0) {
      visitor.finding({ code: 'recording_empty', detail: `${size} bytes of ULog hold no data record` })
    }
    return { kind: 'boot', originUnixNs: records.originUnixNs() }
  },
}

const magic = [0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35]
const HEADER_BYTES = 16
const FLAGS_BYTES = 43
const FLAGS = 0x42
/** Three thousand years: no clock has run that long, so the header is damaged. */
const ABSURD_US = 1e17

function tooShort(visitor: Visitor, size: number) {
  if (size === 0) visitor.finding({ code: 'recording_empty', detail: 'the file has no bytes' })
  else {
    const detail = `${size} bytes are too few for the header of a ULog file, which has ${HEADER_BYTES}`
    visitor.finding({ code: 'recording_truncated', detail })
  }
  return { kind: 'boot', originUnixNs: undefined } as const
}

/** The start of the log, and the ranges that records must not cross: data may have been appended after a crash. */
async function readHeader(source: Source, visitor: Visitor) {
  const size = source.size()
  const head = await source.read(0, Math.min(size, HEADER_BYTES + FLAGS_BYTES))
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  if (!ulog.recognises(head)) {
    const found = Buffer.from(head.subarray(0, magic.length)).toString('hex')
    const detail = `the file begins with ${found} instead of ${Buffer.from(magic).toString('hex')}`
    visitor.finding({ code: 'chunk_corrupt', detail })
  }
  const startUs = microseconds(view, 8)
  if (startUs > ABSURD_US) {
    const detail = `the header says that the log began ${startUs} µs after boot; it is taken to begin with its data`
    visitor.finding({ code: 'timestamp_invalid', detail })
  }
  const seams = [HEADER_BYTES, ...appendedOffsets(view, visitor, size), size]
  const segments = seams.slice(1).map((to, index) => [seams[index] ?? to, to] as const)
  return { headerUs: startUs > ABSURD_US ? undefined : startUs, segments }
}

function appendedOffsets(view: DataView, visitor: Visitor, size: number): number[] {
  if (view.byteLength < HEADER_BYTES + FLAGS_BYTES || view.getUint8(HEADER_BYTES + 2) !== FLAGS) return []
  if ((view.getUint8(HEADER_BYTES + 11) & 1) === 0) return []
  const offsets = [19, 27, 35]
    .map((at) => microseconds(view, HEADER_BYTES + at))
    .filter((offset) => offset > 0)
  const good = offsets.filter(
    (offset, index) => offset > (offsets[index - 1] ?? HEADER_BYTES + FLAGS_BYTES) && offset < size,
  )
  if (good.length < offsets.length) {
    const detail = `the header says that data was appended at ${offsets.join(', ')}, the file has ${size} bytes`
    visitor.finding({ code: 'index_mismatch', detail })
  }
  return good
}
