import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { nmea } from '../src/nmea.ts'
import { bytesSource, collect } from './support/collect.ts'
import { bytesOf, u16 } from './support/records.ts'
import { messages, realFiles, withstands } from './support/withstand.ts'

function sentence(body: string): string {
  const checksum = [...Buffer.from(body)].reduce((sum, byte) => sum ^ byte, 0)
  return `$${body}*${checksum.toString(16).toUpperCase().padStart(2, '0')}\r\n`
}

function ubx(payload: number[]): Uint8Array {
  const body = bytesOf([0x01, 0x07], u16(payload.length), payload)
  let [first, second] = [0, 0]
  for (const byte of body) {
    first = (first + byte) & 255
    second = (second + first) & 255
  }
  return bytesOf([0xb5, 0x62], body, [first, second])
}

const clock = (seconds: number) =>
  [seconds / 3600, (seconds / 60) % 60, seconds % 60]
    .map((part) => String(Math.floor(part)).padStart(2, '0'))
    .join('')
const rmc = (seconds: number, date = '141123', status = 'A') =>
  sentence(`GNRMC,${clock(seconds)}.00,${status},4404.1,N,12118.8,W,0.04,359.11,${date},,,A`)
const gga = (seconds: number) =>
  sentence(`GPGGA,${clock(seconds)}.250,4404.1,N,12118.8,W,1,08,0.9,1123.9,M,-19.6,M,,`)
const gsv = () => sentence('GPGSV,1,1,00')
const zda = (seconds: number) => sentence(`GNZDA,${clock(seconds)}.50,14,11,2023,00,00`)
const epochs = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => gga(from + n) + gsv() + rmc(from + n))
const scan = (...parts: Parameters<typeof bytesOf>) => collect(nmea, bytesSource(bytesOf(...parts)))
const codes = (result: { findings: { code: string }[] }) => result.findings.map(({ code }) => code)
const DAY_NS = BigInt(Date.UTC(2023, 10, 14)) * 1_000_000n

suite('nmea', () => {
  test('a log is told as it is', async () => {
    const result = await scan(
      '# a comment\r\n',
      gsv(),
      gga(80_000),
      rmc(80_000),
      zda(80_000),
      gga(80_001),
      gsv(),
      rmc(80_001),
    )
    const channel = { schemaEncoding: '', encoding: 'nmea', schemaBytes: 0, count: 2, contents: 2 }
    assert.deepEqual(result, {
      timebase: { kind: 'unix' },
      originNs: DAY_NS + 80_000_250_000_000n,
      channels: [
        { ...channel, topic: 'GPGSV', schema: 'GSV', bytes: 32, first: 0, last: 1_000_000_000 },
        { ...channel, topic: 'GPGGA', schema: 'GGA', bytes: 134, first: 0, last: 1_000_000_000 },
        { ...channel, topic: 'GNRMC', schema: 'RMC', bytes: 126, first: -250_000_000, last: 750_000_000 },
        {
          ...channel,
          topic: 'GNZDA',
          schema: 'ZDA',
          bytes: 36,
          first: 250_000_000,
          last: 250_000_000,
          count: 1,
          contents: 1,
        },
      ],
      markers: [],
      findings: [],
      read: result.read,
    })
  })

  test('midnight passes between two dates', async () => {
    const result = await scan(rmc(86_399), gga(86_399), gga(0), rmc(0, '151123'), gga(1))
    assert.equal(result.originNs, DAY_NS + 86_399_000_000_000n)
    assert.deepEqual(
      result.channels.map(({ first, last }) => [first, last]),
      [
        [0, 1_000_000_000],
        [250_000_000, 2_250_000_000],
      ],
    )
  })

  test('what comes before the first date is put before it, also across midnight', async () => {
    const result = await scan(gga(86_398), gga(86_399), gsv(), rmc(1, '151123'))
    assert.equal(result.originNs, DAY_NS + 86_398_250_000_000n)
    assert.equal(result.channels[2]?.first, 2_750_000_000)
  })

  test('a date before the first fix is not believed where a better one comes', async () => {
    const result = await scan(rmc(100, '060180', 'V'), rmc(101, '060180', 'V'), ...epochs(102, 120))
    assert.equal(result.originNs, DAY_NS + 100_000_000_000n)
    assert.deepEqual(result.findings, [])
  })

  test('a receiver that never has a fix still tells its date', async () => {
    const result = await scan(rmc(100, '141123', 'V'), rmc(101, '141123', 'V'))
    assert.equal(result.originNs, DAY_NS + 100_000_000_000n)
    assert.deepEqual(result.timebase, { kind: 'unix' })
  })

  test('without any date the times are relative', async () => {
    const result = await scan(gga(100), gga(101), gsv())
    assert.deepEqual(result.timebase, { kind: 'relative', originUnixNs: undefined })
    assert.equal(result.channels[0]?.last, 1_000_000_000)
  })

  test('a date that comes very late still dates the beginning', async () => {
    const many = Array.from({ length: 5000 }, (_, n) => gga(100 + n))
    const result = await scan(...many, rmc(5100))
    assert.deepEqual(result.timebase, { kind: 'relative', originUnixNs: DAY_NS + 100_250_000_000n })
    assert.equal(messages(result), 5001)
  })

  test('sentences before any time are not told, and reported', async () => {
    const result = await scan(gsv(), gsv())
    assert.equal(messages(result), 0)
    assert.ok(codes(result).includes('timestamp_invalid'))
  })

  test('binary frames of u-blox in between are tolerated and counted', async () => {
    const frame = ubx(Array.from({ length: 92 }, (_, n) => (n * 37) & 255))
    const dollars = ubx([0x24, 0x47, 0x50, 0x24, 0xb5, 0x62])
    const result = await scan(...epochs(100, 110).flatMap((epoch) => [epoch, frame, dollars]))
    assert.equal(result.channels.find(({ topic }) => topic === 'UBX')?.count, 20)
    assert.equal(messages(result), 50)
    assert.deepEqual(result.findings, [])
  })

  test('other bytes are counted and passed over', async () => {
    const foreign = Uint8Array.from({ length: 300 }, (_, n) => 128 + (n % 100))
    const result = await scan(...epochs(100, 110), foreign, ...epochs(110, 120))
    assert.equal(messages(result), 60)
    assert.equal(result.findings[0]?.count, 300)
    assert.deepEqual(codes(result), ['messages_undecodable'])
  })

  test('a wrong checksum, a missing one and a lost dollar are reported', async () => {
    const wrong = rmc(103).replace('4404.1', '4404.2')
    const missing = rmc(104).replace(/\*../, '')
    const lost = rmc(105).replace('$', ' ')
    const result = await scan(rmc(100), wrong, missing, lost, rmc(106))
    assert.equal(messages(result), 2)
    assert.deepEqual(codes(result), ['messages_undecodable'])
    assert.equal(result.findings[0]?.count, 3)
  })

  test('everything before a cut is told, wherever it is', async () => {
    const bytes = bytesOf(...Array.from({ length: 10 }, (_, n) => rmc(100 + n)))
    const length = rmc(100).length
    for (let at = 1; at < bytes.length; at++) {
      const result = await collect(nmea, bytesSource(bytes.slice(0, at)))
      assert.equal(messages(result), Math.floor((at + 2) / length), `cut at ${at}`)
      const isBetween = at % length === 0 || at % length >= length - 2
      assert.deepEqual(codes(result), isBetween ? [] : ['recording_truncated'], `cut at ${at}`)
    }
  })

  test('no bytes and noise are told as what they are', async () => {
    assert.deepEqual(codes(await scan('')), ['recording_empty'])
    assert.deepEqual(codes(await scan('nothing of the kind\n')), ['recording_empty'])
    assert.deepEqual(codes(await scan(new Uint8Array(5000))), ['messages_undecodable'])
  })

  test('only a sentence with a good checksum is recognised', () => {
    assert.ok(nmea.recognises(bytesOf('# log\r\n', rmc(1))))
    assert.ok(nmea.recognises(bytesOf(ubx([1, 2, 3]), gga(1), rmc(1))))
    assert.ok(!nmea.recognises(bytesOf(new Uint8Array(200), rmc(1), new Uint8Array(200))))
    assert.ok(!nmea.recognises(bytesOf(rmc(1).replace('N', 'S'))))
    assert.ok(!nmea.recognises(bytesOf('$5,000*10 in total')))
    assert.ok(!nmea.recognises(new Uint8Array()))
  })

  test('damage of every kind is withstood', async () => {
    const bytes = bytesOf(
      ...epochs(1000, 1200).flatMap((epoch, n) => (n % 10 ? [epoch] : [epoch, ubx([n, 2, 3])])),
    )
    for (const seed of [1, 2, 3, 4, 5]) await withstands(nmea, bytes, seed)
  })

  const real = realFiles('nmea', '.log')
  test('real logs are read, whole and damaged', {
    skip: real.length === 0 && 'no real recordings here',
  }, async () => {
    for (const { name, bytes } of real) {
      const result = await collect(nmea, bytesSource(bytes()))
      assert.ok(messages(result) > 300, name)
      assert.deepEqual(result.findings, [], name)
      await withstands(nmea, bytes())
    }
  })
})
