import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { csv } from '../src/csv.ts'
import { dataflash } from '../src/dataflash.ts'
import { gpx } from '../src/gpx.ts'
import { openTimeline } from '../src/linear/timeline.ts'
import { nmea } from '../src/nmea.ts'
import { pcap } from '../src/pcap.ts'
import type { Reader, Source, Visitor } from '../src/recording.ts'
import { ulog } from '../src/ulog.ts'
import { collect } from './support/collect.ts'
import { seeded } from './support/damage.ts'
import { descriptions } from './support/dataflash-writer.ts'
import { little, header as pcapHeader } from './support/pcap-writer.ts'
import { bytesOf } from './support/records.ts'
import { header as ulogHeader } from './support/ulog-writer.ts'

// What all readers that go front to back have in common.

const WINDOW_BYTES = 1 << 20

/** A beginning that its reader knows, for files that go on with anything. */
const readers: { reader: Reader; head: Uint8Array }[] = [
  { reader: ulog, head: ulogHeader(5) },
  { reader: dataflash, head: descriptions() },
  { reader: nmea, head: bytesOf('$GPGSV,1,1,00*79\r\n') },
  { reader: gpx, head: bytesOf('<gpx><trk><trkseg>') },
  { reader: csv, head: bytesOf('time,x\n', ...Array.from({ length: 9000 }, (_, n) => `${n}.5,1\n`)) },
  { reader: pcap, head: pcapHeader(little) },
]

/** A file that is made as it is read, so that it costs no memory. */
function endless(
  head: Uint8Array,
  size: number,
  fill: (bytes: Uint8Array) => void,
): Source & { longest(): number } {
  let longest = 0
  return {
    size: () => size,
    longest: () => longest,
    async read(offset, length) {
      assert.ok(offset >= 0 && length >= 0 && offset + length <= size, `read ${offset}+${length} of ${size}`)
      longest = Math.max(longest, length)
      const bytes = new Uint8Array(length)
      fill(bytes)
      if (offset < head.length) bytes.set(head.subarray(offset, offset + length))
      return bytes
    },
  }
}

function noise(): (bytes: Uint8Array) => void {
  const random = seeded(7)
  return (bytes) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = random() * 256
  }
}

suite('readers that go front to back', () => {
  for (const { reader, head } of readers) {
    test(`${reader.format}: megabytes of anything are read once, a window at a time`, async () => {
      const fills = [noise(), (bytes: Uint8Array) => bytes.fill(0), (bytes: Uint8Array) => bytes.fill(0x3c)]
      for (const fill of fills) {
        const source = endless(head, 12 * WINDOW_BYTES, fill)
        const result = await collect(reader, source)
        assert.ok(source.longest() <= WINDOW_BYTES)
        assert.ok(result.read.bytes <= source.size() + WINDOW_BYTES / 8)
        assert.notDeepEqual(result.findings, [])
        assert.ok(result.findings.length < 8, 'one finding for each kind')
      }
    })

    test(`${reader.format}: a scan ends when it is told to`, async () => {
      const abort = new AbortController()
      const source = endless(head, 2 ** 45, (bytes) => bytes.fill(0))
      const stopping: Source = {
        size: source.size,
        read: (offset, length) => {
          if (offset > 2 * WINDOW_BYTES) abort.abort()
          return source.read(offset, length)
        },
      }
      const options = { signal: abort.signal, tempDir: '', full: false }
      await assert.rejects(reader.scan(stopping, silent, options), { name: 'AbortError' })
    })

    test(`${reader.format}: what the storage fails with is passed on`, async () => {
      const broken: Source = { size: () => 100, read: () => Promise.reject(new Error('the disk is gone')) }
      await assert.rejects(collect(reader, broken), { message: 'the disk is gone' })
    })
  }

  test('rows without a time are told in their place, also while others are held', () => {
    const told: number[] = []
    const timeline = openTimeline({ ...silent, message: (channel) => void told.push(channel) })
    const row = (sec: number, channel: number) => timeline.tell({ channel, sec, nano: 0, bytes: 0, at: 0 })
    row(100, 0)
    assert.ok(timeline.tellHere(1, 0))
    row(101, 2)
    row(9_000_000, 3)
    timeline.tellHere(4, 0)
    row(102, 5)
    timeline.end()
    assert.deepEqual(told, [0, 1, 2, 3, 4, 5])
  })

  test('a flood of rows without a time is not held', () => {
    let told = 0
    const timeline = openTimeline({ ...silent, message: () => void told++ })
    timeline.tell({ channel: 0, sec: 1, nano: 0, bytes: 0, at: 0 })
    for (let n = 0; n < 1000; n++) timeline.tellHere(0, 0)
    assert.equal(told, 1001)
  })
})

const silent: Visitor = {
  origin: () => {},
  channel: () => 0,
  message: () => {},
  content: () => {},
  marker: () => {},
  finding: () => {},
  progress: () => {},
}
