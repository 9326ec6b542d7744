import { openRoster } from './linear/roster.ts'
import { sweep } from './linear/sweep.ts'
import { note, openTally, report } from './linear/tally.ts'
import { openTimeline } from './linear/timeline.ts'
import { openCalendar } from './nmea/calendar.ts'
import { isCutSentence, nothing, type Sentence, sentenceAt, tellTime } from './nmea/sentence.ts'
import { ubxAt } from './nmea/ubx.ts'
import type { Reader, ScanOptions, Source, Visitor } from './recording.ts'

// NMEA 0183: sentences of text, one channel for each address (GPRMC, GNGGA …). Receivers mix binary frames of their
// own in between; those of u-blox are counted as a channel, other bytes are passed over and reported.

export const nmea: Reader = {
  format: 'nmea',
  recognises: hasSentence,
  async scan(source, visitor, options) {
    const timeline = openTimeline(visitor)
    const calendar = openCalendar(timeline)
    const damage = await readSentences(source, visitor, options, calendar.tell)
    calendar.end()
    timeline.end()
    const { count, at } = calendar.untimed
    if (count > 0) {
      const detail = `${count} messages come before any time, the first at byte ${at}; they are not counted`
      visitor.finding({ code: 'timestamp_invalid', detail, count })
    }
    if (timeline.told() === 0 && !damage) {
      const detail = `${source.size()} bytes hold no NMEA sentence with a time`
      visitor.finding({ code: 'recording_empty', detail })
    }
    return calendar.timebase()
  },
}

/** Among text: captures and bags carry sentences too, between bytes that are none. */
function hasSentence(head: Uint8Array): boolean {
  const bytes = asBuffer(head)
  return bytes.some(
    (byte, at) =>
      isStart(byte) && (at === 0 || isText(bytes[at - 1])) && typeof sentenceAt(bytes, at) === 'object',
  )
}

/** Returns whether anything was damaged. */
async function readSentences(
  source: Source,
  visitor: Visitor,
  options: ScanOptions,
  tell: ReturnType<typeof openCalendar>['tell'],
): Promise<boolean> {
  const size = source.size()
  const roster = openRoster(visitor)
  const damaged = openTally()
  const foreign = openTally()
  const cut = openTally()

  await sweep(source, { from: 0, to: size }, visitor, options, (block) => {
    const { offset, last } = block
    const bytes = asBuffer(block.bytes)
    let at = 0
    while (at < bytes.length) {
      const byte = bytes[at]
      const frameBytes = byte === 0xb5 ? ubxAt(bytes, at) : 0
      if (frameBytes === 'more') {
        if (!last) return at
      } else if (frameBytes > 0) {
        say('UBX', 'UBX', 'ubx', at, frameBytes)
        at += frameBytes
        continue
      }
      const found = isStart(byte) ? sentenceAt(bytes, at) : 'none'
      if (found === 'more' && !last) return at
      if (typeof found === 'object') {
        say(found.address, schemaOf(found), 'nmea', at, found.length, found)
        at += found.length
        continue
      }
      if (found === 'more' && isCutSentence(bytes, at)) note(cut, offset + at, { bytes: bytes.length - at })
      if (found === 'damaged' || isLostEnd(bytes, at)) note(damaged, offset + at)
      if (found === 'none' && !isText(byte)) note(foreign, offset + at)
      at = found === 'damaged' ? nextLine(bytes, at) : at + 1
    }
    return at

    function say(
      topic: string,
      schema: string,
      encoding: string,
      at: number,
      length: number,
      sentence?: Sentence,
    ) {
      const schemaData = new Uint8Array()
      const channel = roster.channel(topic, () => ({ schema, schemaEncoding: '', schemaData, encoding }))
      if (channel === undefined) return roster.turnAway(offset + at)
      const payload = block.bytes.subarray(at, at + length)
      tell(
        { channel, bytes: length, at: offset + at, payload },
        sentence ? tellTime(bytes, sentence) : nothing,
      )
    }
  })

  roster.report(visitor)
  report(
    visitor,
    'messages_undecodable',
    damaged,
    `${damaged.count} sentences are incomplete or contradict their checksum, the first at byte ${damaged.at}; they are ` +
      'not counted',
  )
  report(
    visitor,
    'messages_undecodable',
    foreign,
    `${foreign.count} of ${size} bytes are neither NMEA nor UBX, the first at byte ${foreign.at}; they are passed over`,
  )
  report(
    visitor,
    'recording_truncated',
    cut,
    `the last sentence, at byte ${cut.at}, is cut after ${cut.bytes} bytes`,
  )
  return damaged.count + foreign.count + cut.count > 0
}

function schemaOf({ address }: Sentence): string {
  return address.startsWith('P') ? address : address.slice(-3)
}

/** Where the next sentence can begin: on a new line, or where a `$` stands in the middle of this one. */
function nextLine(bytes: Uint8Array, from: number): number {
  let at = from + 1
  while (at < bytes.length && bytes[at] !== 0x0a && !isStart(bytes[at])) at++
  return at
}

/** A checksum at the end of a line, of a sentence whose `$` is gone. */
function isLostEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x2a && /^\*[0-9A-F]{2}\r?\n/.test(bytes.toString('latin1', at, at + 5))
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function isStart(byte: number | undefined): boolean {
  return byte === 0x24 || byte === 0x21
}

function isText(byte: number | undefined): boolean {
  return (
    byte === 0x09 || byte === 0x0a || byte === 0x0d || (byte !== undefined && byte >= 0x20 && byte <= 0x7e)
  )
}
