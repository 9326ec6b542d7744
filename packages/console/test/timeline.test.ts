import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { activityOf, countBetween, toRow } from '../src/timeline/recording.ts'
import { formatOffset, pan, ticks, whole, zoom } from '../src/timeline/view.ts'

const counts = fc.array(fc.nat(50), { minLength: 1, maxLength: 200 }).map((list) => Uint32Array.from(list))

test('messages between two places are those of the bins between them', () => {
  fc.assert(
    fc.property(counts, fc.nat(200), fc.nat(200), (list, a, b) => {
      const [from, to] = [Math.min(a, b, list.length), Math.min(Math.max(a, b), list.length)]
      const expected = list.subarray(from, to).reduce((sum, count) => sum + count, 0)
      assert.equal(countBetween(toRow('x', list, 1e6, null), from, to), expected)
    }),
  )
})

test('a stretch cut in two has the messages of its halves', () => {
  fc.assert(
    fc.property(counts, fc.double({ min: 0, max: 1, noNaN: true }), (list, share) => {
      const row = toRow('x', list, 1e6, null)
      const middle = share * list.length
      const halves = countBetween(row, 0, middle) + countBetween(row, middle, list.length)
      assert.ok(Math.abs(halves - countBetween(row, 0, list.length)) < 1e-6)
    }),
  )
})

test('a silence of a steady channel is a gap, its usual period is none', () => {
  const steady = Uint32Array.from({ length: 100 }, (_, bin) => (bin >= 40 && bin < 60 ? 0 : bin % 2))
  // Bins of 50 ms, a message every 100 ms.
  assert.deepEqual([...toRow('x', steady, 5e7, 10).gaps], [40, 61])
  assert.deepEqual([...toRow('x', steady, 5e7, null).gaps], [])
})

test('activity is 1 where the most is', () => {
  const rows = [toRow('x', Uint32Array.from([0, 10, 10, 5]), 1e9, 10)]
  const activity = activityOf({ startNs: 0n, binNs: 1e9, binCount: 4, spanNs: 4e9, rows }, 0, 4, 4)
  assert.deepEqual([...activity], [0, 1, 1, 0.5])
})

test('however one moves and zooms, the view stays inside the recording', () => {
  const spanNs = 60e9
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(fc.double({ min: 0.1, max: 10, noNaN: true }), fc.double({ min: -2, max: 2, noNaN: true })),
        { maxLength: 40 },
      ),
      (steps) => {
        let view = whole(spanNs)
        for (const [factor, share] of steps) {
          view = zoom(view, factor, view.fromNs + 0.5 * (view.toNs - view.fromNs), spanNs)
          view = pan(view, share * (view.toNs - view.fromNs), spanNs)
          assert.ok(
            view.fromNs >= 0 && view.toNs <= spanNs + 1 && view.toNs - view.fromNs >= 1e6 - 1,
            JSON.stringify(view),
          )
        }
      },
    ),
  )
})

test('zooming keeps the place under the pointer where it is', () => {
  const near = zoom({ fromNs: 10e9, toNs: 20e9 }, 4, 12e9, 60e9)
  assert.ok(Math.abs((12e9 - near.fromNs) / (near.toNs - near.fromNs) - 0.2) < 1e-9)
})

test('the axis has round times, about as many as wanted, down to milliseconds', () => {
  for (const spanNs of [1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13]) {
    const found = ticks({ fromNs: 0, toNs: spanNs }, 10)
    assert.ok(found.length >= 3 && found.length <= 12, `${found.length} for ${spanNs}`)
  }
  assert.deepEqual(
    ticks({ fromNs: 0, toNs: 60e9 }, 6).map((at) => formatOffset(at, { fromNs: 0, toNs: 60e9 })),
    ['0:00', '0:10', '0:20', '0:30', '0:40', '0:50', '1:00'],
  )
  assert.equal(formatOffset(119.99e9, { fromNs: 0, toNs: 120e9 }), '2:00')
  assert.equal(formatOffset(3_723_450_000_000, { fromNs: 0, toNs: 1e9 }), '1:02:03.45')
})
