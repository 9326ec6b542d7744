import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitClock, type Pair } from '../src/clock.ts'

const ORIGIN = 1_700_000_000_000_000_000n
const MS = 1e6
const S = 1e9

/** Messages with a latency that is never negative and has a long tail. */
function pairs(count: number, periodNs: number, stampOf: (t: number) => number, seed = 7): Pair[] {
  let state = seed
  const chance = () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 2147483648
  }
  return Array.from({ length: count }, (_, index) => {
    const measured = index * periodNs
    const latency = 0.2 * MS - Math.log(1 - chance()) * 0.5 * MS
    return { t: measured + latency, stamp: stampOf(measured) }
  })
}

test('an offset is found to within the least latency', () => {
  const model = fitClock(
    pairs(2000, 5 * MS, (t) => t + 2.5 * MS),
    ORIGIN,
  )
  assert.equal(model?.kind, 'offset')
  assert.ok(Math.abs((model?.envelopeOffsetNs ?? 0) - 2.3 * MS) < 0.1 * MS, String(model?.envelopeOffsetNs))
  assert.equal(model?.driftPpm, null)
})

test('a drift is found with its value', () => {
  const model = fitClock(
    pairs(20_000, 10 * MS, (t) => t * (1 + 35e-6)),
    ORIGIN,
  )
  assert.ok(Math.abs((model?.driftPpm ?? 0) - 35) < 2, String(model?.driftPpm))
})

test('no drift is told from few messages, or over a short time', () => {
  assert.equal(
    fitClock(
      pairs(68, 1 * S, (t) => t * (1 + 35e-6)),
      ORIGIN,
    )?.driftPpm,
    null,
  )
  assert.equal(
    fitClock(
      pairs(2000, 5 * MS, (t) => t * (1 + 35e-6)),
      ORIGIN,
    )?.driftPpm,
    null,
  )
})

test('a clock that is set is told as a jump at its place', () => {
  const model = fitClock(
    pairs(4000, 10 * MS, (t) => (t < 20 * S ? t : t + 250 * MS)),
    ORIGIN,
  )
  assert.equal(model?.jumps.length, 1)
  assert.ok(Math.abs((model?.jumps[0]?.t ?? 0) - 20 * S) < 0.2 * S)
  assert.ok(Math.abs((model?.jumps[0]?.ns ?? 0) - 250 * MS) < 5 * MS)
})

test('clocks of another kind are told apart before anything is fitted', () => {
  assert.equal(
    fitClock(
      pairs(100, S, () => 5 * S),
      ORIGIN,
    )?.kind,
    'frozen',
  )
  assert.equal(
    fitClock(
      pairs(100, S, () => Number(-ORIGIN)),
      ORIGIN,
    )?.kind,
    'unset',
  )
  assert.equal(
    fitClock(
      pairs(100, S, (t) => Number(-ORIGIN) + 100 * S + t),
      ORIGIN,
    )?.kind,
    'simulated',
  )
  assert.equal(
    fitClock(
      pairs(100, S, (t) => t + 18 * S),
      ORIGIN,
    )?.kind,
    'gps',
  )
})

test('stamps in the future are counted', () => {
  const model = fitClock(
    pairs(100, S, (t) => t + 50 * MS),
    ORIGIN,
  )
  assert.equal(model?.future.count, 100)
})

test('too few messages give no model', () => {
  assert.equal(
    fitClock(
      pairs(5, S, (t) => t),
      ORIGIN,
    ),
    undefined,
  )
})
