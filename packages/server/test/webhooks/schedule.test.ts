import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WEBHOOK_WINDOW_HOURS } from '@tapedeck/contract'
import fc from 'fast-check'
import { nextDelayMs, parseRetryAfter, pauseMs, windowMs } from '../../src/webhooks/schedule.ts'

const S = 1_000
const H = 3_600 * S
const DAY = WEBHOOK_WINDOW_HOURS * H

/** 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 6 h, 9 h 15: as decided. */
const decidedS = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 21_600, 33_300]

const failure = {
  attempts: 1,
  leftMs: DAY,
  retryAfterMs: undefined,
  scale: 1,
  /** In the middle: no jitter. */
  chance: 0.5,
}

for (const [index, seconds] of decidedS.entries()) {
  test(`after attempt ${index + 1} the next one comes about ${seconds} s later`, () => {
    const delays = [0, 0.5, 1].map((chance) => nextDelayMs({ ...failure, attempts: index + 1, chance }))
    assert.deepEqual(
      delays.map(toWhole),
      [0.9, 1, 1.1].map((share) => Math.round(share * seconds * S)),
    )
  })
}

test('after attempt 11 there is none left', () => {
  assert.equal(nextDelayMs({ ...failure, attempts: decidedS.length + 1 }), undefined)
})

test('when the day is over there is none left', () => {
  assert.deepEqual(
    [0, -1].map((leftMs) => nextDelayMs({ ...failure, leftMs })),
    [undefined, undefined],
  )
})

test('what would come too late comes shortly before the end', () => {
  assertShortlyBefore(H, nextDelayMs({ ...failure, attempts: 10, leftMs: H }))
})

test('a receiver that asks for more time gets it', () => {
  assert.equal(nextDelayMs({ ...failure, retryAfterMs: 60 * S }), 60 * S)
})

test('a receiver that asks for less time than planned is not tried sooner', () => {
  assert.equal(nextDelayMs({ ...failure, retryAfterMs: S }), 5 * S)
})

test('a receiver that asks for more time than there is, is tried shortly before the end', () => {
  assertShortlyBefore(H, nextDelayMs({ ...failure, leftMs: H, retryAfterMs: 2 * H }))
})

test('the scale compresses delays and day alike, and leaves alone what a receiver asks for', () => {
  assert.equal(toWhole(nextDelayMs({ ...failure, scale: 0.01 })), 50)
  assert.equal(windowMs(0.01), DAY * 0.01)
  assert.equal(nextDelayMs({ ...failure, scale: 0.01, retryAfterMs: 60 * S }), 60 * S)
})

test('however long answers take and whatever receivers ask for, no attempt is planned past the day', () => {
  const attempt = fc.record({
    tookMs: fc.integer({ min: 0, max: 10 * S }),
    lateMs: fc.integer({ min: 0, max: 30 * S }),
    chance: fc.double({ min: 0, max: 1, noNaN: true }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 2 * DAY }), { nil: undefined }),
  })
  const life = fc.array(attempt, { minLength: 12, maxLength: 12 })
  fc.assert(
    fc.property(life, (attempts) => {
      let atMs = 0
      for (const [index, { tookMs, lateMs, chance, retryAfterMs }] of attempts.entries()) {
        const leftMs = DAY - atMs - tookMs
        const delayMs = nextDelayMs({ attempts: index + 1, leftMs, retryAfterMs, scale: 1, chance })
        if (delayMs === undefined) return
        assert.ok(delayMs > 0)
        assert.ok(atMs + tookMs + delayMs <= DAY, `planned ${atMs + tookMs + delayMs - DAY} ms too late`)
        atMs += tookMs + delayMs + lateMs
      }
      assert.fail('there is no end to the attempts')
    }),
  )
})

test('without jitter all eleven attempts fit in the day, the last one near its end', () => {
  const sumMs = decidedS.reduce((sum, seconds) => sum + seconds * S, 0)
  assert.ok(sumMs < DAY && sumMs > 0.95 * DAY, `${sumMs / H} h`)
})

const nowMs = Date.parse('2026-03-14T09:26:53Z')

const retryAfter: [string | undefined, number | undefined][] = [
  [undefined, undefined],
  ['0', 0],
  ['120', 120 * S],
  [' 120 ', 120 * S],
  ['999999999', 999_999_999 * S],
  ['Sat, 14 Mar 2026 09:28:53 GMT', 120 * S],
  ['Sat, 14 Mar 2026 09:00:00 GMT', 0],
  ['', undefined],
  ['soon', undefined],
  ['NaN', undefined],
]

for (const [value, expected] of retryAfter) {
  test(`Retry-After ${JSON.stringify(value)} is understood as ${expected} ms`, () => {
    assert.equal(parseRetryAfter(value, nowMs), expected)
  })
}

test('two timeouts in a row do not pause an endpoint', () => {
  assert.deepEqual(
    [0, 1, 2].map((timeouts) => pauseMs(timeouts, 1)),
    [undefined, undefined, undefined],
  )
})

test('from the third timeout in a row the pause doubles, up to ten minutes', () => {
  assert.deepEqual(
    [3, 4, 5, 6, 7, 8, 9, 10, 1000].map((timeouts) => pauseMs(timeouts, 1)),
    [15, 30, 60, 120, 240, 480, 600, 600, 600].map((seconds) => seconds * S),
  )
})

test('the scale compresses pauses', () => assert.equal(pauseMs(3, 0.01), 150))

function assertShortlyBefore(endMs: number, delayMs = Number.NaN): void {
  assert.ok(delayMs <= endMs && delayMs >= 0.9 * endMs, `${delayMs} ms`)
}

function toWhole(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}
