import { findLayout, isComment, type Layout, split } from './csv/layout.ts'
import { hasColumns, rowTime } from './csv/row.ts'
import { subjectOf } from './csv/subject.ts'
import { type Block, sweep } from './linear/sweep.ts'
import { note, openTally, report } from './linear/tally.ts'
import { openTimeline } from './linear/timeline.ts'
import { HEAD_BYTES, MAX_SCHEMA_BYTES, type Reader, type Source, type Visitor } from './recording.ts'

// Tables of text with a column of times: EuRoC, TUM, exports of all kinds. One channel, a message for each row. Only
// the time is parsed; the rest of a row is passed on as it is.

export const csv: Reader = {
  format: 'csv',
  recognises: (head) => findLayout(head, head.length < HEAD_BYTES) !== undefined,
  async scan(source, visitor, options) {
    const layout = await readLayout(source)
    if (!layout) return noTable(visitor, source.size())
    const rows = openRows(visitor, layout)
    await sweep(source, { from: 0, to: source.size() }, visitor, options, rows.eat)
    return rows.end()
  },
}

const LAYOUT_BYTES = 64 << 10
const MAX_ROW_BYTES = 1 << 20
/** A stamp written with an exponent is damaged if that cost more than this. */
const LOSS_NS = 1000
/** 1973: smaller stamps do not count from 1970. */
const UNIX_S = 1e8

async function readLayout(source: Source): Promise<Layout | undefined> {
  const size = source.size()
  const head = await source.read(0, Math.min(size, LAYOUT_BYTES))
  return (
    findLayout(head, size <= LAYOUT_BYTES) ?? findLayout(head.subarray(0, HEAD_BYTES), size <= HEAD_BYTES)
  )
}

function noTable(visitor: Visitor, size: number) {
  const detail =
    size === 0
      ? 'the file has no bytes'
      : `no table with a column of times is in the first ${LAYOUT_BYTES} bytes`
  visitor.finding({ code: 'recording_empty', detail })
  return { kind: 'relative', originUnixNs: undefined } as const
}

function openRows(visitor: Visitor, layout: Layout) {
  const { separator, time, columns, header, hasHeaderRow } = layout
  const timeline = openTimeline(visitor)
  const channel = visitor.channel({
    topic: subjectOf(split(header, separator)),
    schema: '',
    schemaEncoding: '',
    schemaData: Buffer.from(header, 'latin1').subarray(0, MAX_SCHEMA_BYTES),
    encoding: 'csv',
  })
  const unread = openTally()
  const rounded = openTally()
  const zeros = openTally()
  const cut = openTally()
  const ragged = openTally()
  let lossNs = 0
  let isFirst = true

  function eat({ bytes, offset, last }: Block): number {
    const hasZeros = bytes.includes(0)
    let at = offset === 0 && bytes[0] === 0xef && bytes[1] === 0xbb ? BYTE_ORDER_MARK_BYTES : 0
    while (at < bytes.length) {
      const lineEnd = bytes.indexOf(NEWLINE, at)
      const end = lineEnd < 0 ? bytes.length : lineEnd
      if (lineEnd < 0 && !last && bytes.length - at < MAX_ROW_BYTES) return at
      const zeroAt = hasZeros ? bytes.subarray(at, end).indexOf(0) : -1
      if (zeroAt >= 0) note(zeros, offset + at + zeroAt, { bytes: end - at, t: timeline.now() })
      else row(bytes, at, end, offset, last && lineEnd < 0)
      at = end + 1
    }
    return Math.min(at, bytes.length)
  }

  function row(bytes: Uint8Array, from: number, to: number, offset: number, isLast: boolean) {
    const isBlank = to === from || (to === from + 1 && bytes[from] === RETURN)
    if (isBlank || bytes[from] === HASH || bytes[from] === PERCENT) return
    const isHeader = isFirst && hasHeaderRow
    isFirst = false
    if (isLast && isCut(bytes.subarray(from, to))) return note(cut, offset + from, { bytes: to - from })
    const told = rowTime(bytes, from, to, separator, time)
    if (!told) {
      if (!isHeader) note(unread, offset + from, { t: timeline.now() })
      return
    }
    if (!hasColumns(bytes, from, to, separator, columns)) note(ragged, offset + from, { t: timeline.now() })
    if (told.lossNs > LOSS_NS) {
      lossNs = Math.max(lossNs, told.lossNs)
      note(rounded, offset + from, { t: timeline.now() })
    }
    const payload = bytes.subarray(from, bytes[to - 1] === RETURN ? to - 1 : to)
    timeline.tell({
      channel,
      sec: told.sec,
      nano: told.nano,
      bytes: payload.length,
      at: offset + from,
      payload,
    })
  }

  /** Fewer columns than all others, and no line break: the end of the file came too early. */
  function isCut(line: Uint8Array): boolean {
    const text = Buffer.from(line).toString('latin1')
    return !isComment(text) && split(text, separator).length < columns
  }

  return {
    eat,
    end() {
      timeline.end()
      report(
        visitor,
        'messages_undecodable',
        unread,
        `${unread.count} lines have no time where the table has it, the first at byte ${unread.at}; they are not counted`,
      )
      report(
        visitor,
        'messages_undecodable',
        ragged,
        `${ragged.count} rows have other than ${columns} columns, the first at byte ${ragged.at}: line breaks or ` +
          'separators are damaged; each is counted once',
      )
      report(
        visitor,
        'timestamp_invalid',
        rounded,
        `${rounded.count} stamps were rounded to ${lossNs / 1000} µs, as a spreadsheet does when it saves them ` +
          `(1.4E+018), the first at byte ${rounded.at}`,
        { value: lossNs },
      )
      report(
        visitor,
        'chunk_corrupt',
        zeros,
        `${zeros.count} lines hold zero bytes, which text has none of, the first at byte ${zeros.at}; the lines ` +
          `(${zeros.bytes} bytes) are lost`,
        { value: zeros.bytes },
      )
      report(
        visitor,
        'recording_truncated',
        cut,
        `the last row, at byte ${cut.at}, ends after ${cut.bytes} bytes with fewer than ${columns} columns`,
      )
      const damaged = unread.count + zeros.count + cut.count > 0
      if (timeline.told() === 0 && !damaged) {
        visitor.finding({ code: 'recording_empty', detail: 'the table has no rows' })
      }
      const isUnix = (timeline.origin()?.sec ?? 0) >= UNIX_S
      return isUnix ? ({ kind: 'unix' } as const) : ({ kind: 'relative', originUnixNs: undefined } as const)
    },
  }
}

const BYTE_ORDER_MARK_BYTES = 3
const NEWLINE = 0x0a
const RETURN = 0x0d
const HASH = 0x23
const PERCENT = 0x25
