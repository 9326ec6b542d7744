import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutSegments } from '../src/segments.ts'
import { thresholds } from '../src/thresholds.ts'

const S = 1e9

test('segments cover all of the recording, in order, without overlap, whatever is marked or silent', () => {
  const time = fc.double({ min: -10 * S, max: 4000 * S, noNaN: true })
  const silence = fc
    .tuple(time, fc.double({ min: S, max: 100 * S, noNaN: true }))
    .map(([start, length]) => ({ start, end: start + length }))
  const marker = fc.record({ t: time, label: fc.string() })
  fc.assert(
    fc.property(
      fc.double({ min: 0.001 * S, max: 3600 * S, noNaN: true }),
      fc.array(marker, { maxLength: 8 }),
      fc.array(silence, { maxLength: 8 }),
      fc.double({ min: S, max: 600 * S, noNaN: true }),
      (length, markers, silences, windowNs) => {
        const range = { start: 0, end: length }
        const inside = silences.filter(({ start, end }) => start >= 0 && end <= length)
        const cuts = cutSegments(range, markers, inside, windowNs)
        assert.equal(cuts[0]?.start, 0)
        assert.equal(cuts.at(-1)?.end, length)
        for (const [index, cut] of cuts.entries()) {
          assert.ok(cut.end > cut.start || cuts.length === 1)
          if (index > 0) assert.equal(cut.start, cuts[index - 1]?.end)
        }
        assert.ok(cuts.length <= thresholds.segment.max)
      },
    ),
  )
})

test('without anything to go by, a recording is cut in windows and the last one is what is left', () => {
  const cuts = cutSegments({ start: 0, end: 75 * S }, [], [], 30 * S)
  assert.deepEqual(
    cuts.map(({ start, end, why }) => [start / S, end / S, why]),
    [
      [0, 30, 'start'],
      [30, 60, 'window'],
      [60, 75, 'window'],
    ],
  )
})

test('markers go before silences, and name what they begin', () => {
  const cuts = cutSegments(
    { start: 0, end: 100 * S },
    [
      { t: 0, label: 'episode 0' },
      { t: 40 * S, label: 'episode 1' },
    ],
    [{ start: 10 * S, end: 20 * S }],
    30 * S,
  )
  assert.deepEqual(
    cuts.map(({ start, why, label }) => [start / S, why, label]),
    [
      [0, 'start', 'episode 0'],
      [40, 'marker', 'episode 1'],
    ],
  )
})

test('after a silence a new segment begins with the first message', () => {
  const cuts = cutSegments({ start: 0, end: 50 * S }, [], [{ start: 10 * S, end: 25 * S }], 30 * S)
  assert.deepEqual(
    cuts.map(({ start, end, why }) => [start / S, end / S, why]),
    [
      [0, 25, 'start'],
      [25, 50, 'silence'],
    ],
  )
})
