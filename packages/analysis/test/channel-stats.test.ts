import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openChannelTimes } from '../src/channel-stats.ts'

const MS = 1e6
const DAY = 86400e9

function statsOf(times: number[]) {
  const clock = openChannelTimes()
  for (const t of times) clock.add(t, 10)
  return clock.finish()
}
const even = (count: number, periodNs: number, from = 0) =>
  Array.from({ length: count }, (_, index) => from + index * periodNs)

test('rate, count and range of an even channel', () => {
  const stats = statsOf(even(101, 10 * MS))
  assert.deepEqual([stats.count, stats.bytes, stats.first, stats.last], [101, 1010, 0, 1000 * MS])
  assert.ok(Math.abs((stats.medianNs ?? 0) - 10 * MS) < 0.1 * MS)
  assert.equal(stats.outOfOrder.count + stats.duplicates.count + stats.outliers.count, 0)
})

test('the longest gap is found with its place and length', () => {
  const stats = statsOf([...even(50, 10 * MS), ...even(50, 10 * MS, 2000 * MS)])
  assert.deepEqual(stats.gaps[0], { t: 490 * MS, ns: 1510 * MS })
})

test('messages out of order and twice at the same time are counted, each once', () => {
  const stats = statsOf([0, 10 * MS, 5 * MS, 20 * MS, 20 * MS, 30 * MS])
  assert.deepEqual(stats.outOfOrder, { count: 1, t: 5 * MS, worstNs: 5 * MS })
  assert.deepEqual(stats.duplicates, { count: 1, t: 20 * MS })
})

test('a far time alone is left out and disturbs nothing', () => {
  const times = even(100, 10 * MS)
  times.splice(50, 0, -20_000 * DAY)
  const stats = statsOf(times)
  assert.equal(stats.outliers.count, 1)
  assert.deepEqual([stats.first, stats.last, stats.outOfOrder.count], [0, 990 * MS, 0])
})

test('a clock that is set far away is a jump, and both sides count', () => {
  const stats = statsOf([...even(100, 10 * MS), ...even(100, 10 * MS, 400 * DAY)])
  assert.equal(stats.jumps.length, 1)
  assert.ok(stats.outliers.count <= 10)
})

test('whatever the times are, gaps, order, duplicates and range are those of a plain count', () => {
  const times = fc.array(fc.integer({ min: 0, max: 1e12 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(
      fc.oneof(
        times,
        times.map((list) => list.toSorted((a, b) => a - b)),
      ),
      (list) => {
        const stats = statsOf(list)
        const plain = { gaps: [] as number[], outOfOrder: 0, duplicates: 0 }
        let highest = list[0] ?? 0
        for (const t of list.slice(1)) {
          if (t === highest) plain.duplicates++
          else if (t < highest) plain.outOfOrder++
          else plain.gaps.push(t - highest)
          highest = Math.max(highest, t)
        }
        const longest = plain.gaps.toSorted((a, b) => b - a).slice(0, 16)
        assert.deepEqual(
          stats.gaps.map(({ ns }) => ns),
          longest,
        )
        assert.deepEqual(
          [stats.outOfOrder.count, stats.duplicates.count],
          [plain.outOfOrder, plain.duplicates],
        )
        assert.deepEqual([stats.first, stats.last], [Math.min(...list), Math.max(...list)])
        const [middle = 0] = [plain.gaps.toSorted((a, b) => a - b)[Math.ceil(plain.gaps.length / 2) - 1]]
        assert.ok(Math.abs((stats.medianNs ?? 0) - middle) <= middle * 0.02)
      },
    ),
  )
})
