import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { gpx } from '../src/gpx.ts'
import { bytesSource, collect } from './support/collect.ts'
import { bytesOf } from './support/records.ts'
import { messages, realFiles, withstands } from './support/withstand.ts'

const point = (second: number, kind = 'trkpt') =>
  `<${kind} lat="37.7" lon="-122.3"><ele>3.4</ele><time>2016-06-17T23:${String(Math.floor(second / 60)).padStart(2, '0')}:` +
  `${String(second % 60).padStart(2, '0')}Z</time></${kind}>\n`
const seconds = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)
const track = (points: string, name = '') =>
  `<trk>${name && `<name>${name}</name>`}<trkseg>${points}</trkseg></trk>\n`
const file = (...body: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="a > b">\n${body.join('')}</gpx>\n`
const scan = (...parts: Parameters<typeof bytesOf>) => collect(gpx, bytesSource(bytesOf(...parts)))
const codes = (result: { findings: { code: string }[] }) => result.findings.map(({ code }) => code)
const START_NS = BigInt(Date.UTC(2016, 5, 17, 23)) * 1_000_000n

suite('gpx', () => {
  test('tracks, routes and waypoints are told as they are', async () => {
    const result = await scan(
      file(
        '<metadata><name>not a track</name><time>2001-01-01T00:00:00Z</time></metadata>',
        '<wpt lat="1" lon="2"><time>2016-06-17T23:00:00.123456789Z</time><name>Peak &amp; hut</name></wpt>',
        `<rte><name>Way</name>${point(1, 'rtept')}</rte>`,
        track(point(2) + point(3), '<![CDATA[Run <1>]]>'),
        track(point(4)),
        track(point(5), 'Way'),
      ),
    )
    const channel = { schemaEncoding: '', encoding: 'gpx', schemaBytes: 0, count: 1, contents: 1 }
    const base = -123_456_789
    const bytes = point(0).trim().length
    assert.deepEqual(result, {
      timebase: { kind: 'unix' },
      originNs: START_NS + 123_456_789n,
      channels: [
        { ...channel, topic: 'waypoints', schema: 'wpt', bytes: 97, first: 0, last: 0 },
        { ...channel, topic: 'Way', schema: 'rtept', bytes, first: base + 1e9, last: base + 1e9 },
        {
          ...channel,
          topic: 'Run <1>',
          schema: 'trkpt',
          bytes: bytes * 2,
          first: base + 2e9,
          last: base + 3e9,
          count: 2,
          contents: 2,
        },
        { ...channel, topic: 'track 2', schema: 'trkpt', bytes, first: base + 4e9, last: base + 4e9 },
        { ...channel, topic: 'Way (track 3)', schema: 'trkpt', bytes, first: base + 5e9, last: base + 5e9 },
      ],
      markers: [{ t: 0, label: 'Peak & hut' }],
      findings: [],
      read: result.read,
    })
  })

  test('points without a time are not told, and reported', async () => {
    const result = await scan(
      file(track(`${point(1)}<trkpt lat="1" lon="2"/><trkpt lat="1" lon="2"></trkpt>${point(2)}`)),
    )
    assert.equal(messages(result), 2)
    assert.deepEqual(result.findings, [
      {
        code: 'timestamp_invalid',
        detail: result.findings[0]?.detail,
        count: 2,
      },
    ])
  })

  test('a plan without any time is empty', async () => {
    const result = await scan(file('<rte><rtept lat="1" lon="2"/></rte>'))
    assert.deepEqual(codes(result), ['timestamp_invalid', 'recording_empty'])
  })

  test('zones and missing zones are understood', async () => {
    const at = (time: string) => `<trkpt lat="1" lon="2"><time>${time}</time></trkpt>`
    const result = await scan(
      file(track(at('2016-06-17T23:00:00') + at('2016-06-18T01:00:01+02:00') + at('2016-02-31T00:00:00Z'))),
    )
    assert.equal(result.originNs, START_NS)
    assert.equal(result.channels[0]?.last, 1e9)
    assert.deepEqual(codes(result), ['timestamp_invalid'])
  })

  test('points in comments are not told, and prefixes do not matter', async () => {
    const result = await scan(
      file(`<!-- ${point(1)} -->`, track(point(2)).replaceAll(/<(\/?)(\w)/g, '<$1x:$2'))
        .replace('<gpx', '<x:gpx')
        .replace('</gpx', '</x:gpx'),
    )
    assert.equal(messages(result), 1)
    assert.deepEqual(result.findings, [])
  })

  test('everything before a cut is told, and that it is cut', async () => {
    const whole = file(
      track(
        seconds(0, 20)
          .map((n) => point(n))
          .join(''),
      ),
    )
    const first = whole.indexOf('<trkpt')
    const length = point(0).length
    for (let at = first; at < whole.lastIndexOf('</gpx>'); at += 3) {
      const result = await scan(whole.slice(0, at))
      assert.equal(messages(result), Math.min(20, Math.floor((at - first + 1) / length)), `cut at ${at}`)
      assert.deepEqual(codes(result), ['recording_truncated'])
    }
  })

  test('a point that is not opened or not closed costs itself', async () => {
    const points = seconds(0, 20).map((n) => point(n))
    points[5] = point(5).replace('<trkpt', '<trkqt')
    points[9] = point(9).replace('</trkpt', '</trkqt')
    const result = await scan(file(track(points.join(''))))
    assert.equal(messages(result), 18)
    assert.deepEqual(codes(result), ['chunk_corrupt'])
    assert.equal(result.findings[0]?.count, 2)
  })

  test('a file larger than any window is read through it', async () => {
    const points = seconds(0, 3600)
      .map((n) => point(n))
      .join('')
    const result = await scan(file(...seconds(0, 10).map((n) => track(points, 'n'.repeat(n * 1000 + 1)))))
    assert.equal(messages(result), 36_000)
    assert.equal(result.channels.length, 10)
    assert.ok(result.channels.every(({ topic }) => topic.startsWith('n')))
    assert.ok(result.read.reads > 2)
    assert.deepEqual(result.findings, [])
  })

  test('elements and comments without an end neither hang nor pile up', { timeout: 30_000 }, async () => {
    for (const piece of ['<!--', '<trkpt', '<trkpt lat="', '<trkpt>', '<a>', '<', '<name>', '<![CDATA[']) {
      const result = await scan(`<gpx><trk>${piece.repeat(Math.ceil(2_500_000 / piece.length))}`)
      assert.equal(messages(result), 0)
      assert.ok(codes(result).includes('recording_truncated'))
    }
  })

  test('no bytes and noise are told as what they are', async () => {
    assert.deepEqual(codes(await scan('')), ['recording_empty'])
    assert.deepEqual(codes(await scan(file())), ['recording_empty'])
    assert.deepEqual(codes(await scan('<gpx>')), ['recording_truncated'])
    assert.deepEqual(codes(await scan(new Uint8Array(5000))), ['chunk_corrupt', 'recording_truncated'])
  })

  test('only the element is recognised', () => {
    assert.ok(gpx.recognises(bytesOf(file())))
    assert.ok(gpx.recognises(bytesOf([0xef, 0xbb, 0xbf], '<gpx>')))
    assert.ok(!gpx.recognises(bytesOf('<html><body>gpx</body></html>')))
    assert.ok(!gpx.recognises(bytesOf('the <gpx> element')))
    assert.ok(!gpx.recognises(new Uint8Array()))
  })

  test('damage of every kind is withstood', async () => {
    const bytes = bytesOf(
      file(
        track(
          seconds(0, 150)
            .map((n) => point(n))
            .join(''),
          'One',
        ),
        track(point(200), 'Two'),
      ),
    )
    for (const seed of [1, 2, 3, 4, 5]) await withstands(gpx, bytes, seed)
  })

  const real = realFiles('gpx', '.gpx')
  test('real files are read, whole and damaged', {
    skip: real.length === 0 && 'no real recordings here',
  }, async () => {
    for (const { name, bytes } of real) {
      const result = await collect(gpx, bytesSource(bytes()))
      assert.ok(messages(result) > 0, name)
      await withstands(gpx, bytes())
    }
  })
})
