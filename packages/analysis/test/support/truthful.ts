import assert from 'node:assert/strict'
import type { Analysis } from '../../src/analysis.ts'
import { issueCodes } from '../../src/issue.ts'
import { thresholds } from '../../src/thresholds.ts'

const MAX_INT64 = 2n ** 63n - 1n
/** What a detail has when something was not thought of. */
const leaks = /undefined|NaN|Infinity|\[object|\p{Cc}/u

/** What must hold of every analysis, whatever the file was: it can be stored, and it says why it failed. */
export function assertTruthful(analysis: Analysis): void {
  const { readable, channels, issues, segments, timeline, startNs, endNs } = analysis
  if (!readable)
    assert.ok(
      issues.some(({ severity }) => severity === 'error'),
      'it failed without a reason',
    )
  if (!readable) assert.deepEqual([channels.length, segments.length], [0, 0])
  if (readable) assert.ok(segments.length > 0 && channels.length > 0)
  assert.ok(endNs >= startNs)
  assertUnique(channels.map(({ name }) => name))
  assertUnique(issues.map(({ code, channel }) => `${code} ${channel}`))
  for (const channel of channels) {
    for (const text of [channel.name, channel.topic, channel.schema, channel.encoding])
      assert.ok(!/\p{Cc}/u.test(text) && text.isWellFormed() && text.length <= 512, JSON.stringify(text))
    assert.match(channel.name, /^[a-z]+(\/[a-z0-9_]+)?$/)
    for (const number of [channel.count, channel.bytes, channel.rateHz ?? 0, channel.jitterNs ?? 0])
      assert.ok(Number.isFinite(number) && number >= 0, `${channel.name}: ${number}`)
    for (const ns of [channel.firstNs, channel.lastNs]) assertStorable(ns ?? 0n)
  }
  for (const { code, detail, tNs, count, value } of issues) {
    assert.ok(Object.hasOwn(issueCodes, code), code)
    assert.ok(detail.length > 10 && detail.length < 5000 && !leaks.test(detail), `${code}: ${detail}`)
    assert.ok(detail.isWellFormed(), code)
    assertStorable(tNs ?? 0n)
    for (const number of [count ?? 0, value ?? 0]) assert.ok(Number.isFinite(number), `${code}: ${number}`)
  }
  assert.ok(segments.length * channels.length <= Math.max(thresholds.segment.maxCells, segments.length))
  let end = startNs
  for (const segment of segments) {
    assert.equal(segment.startNs, end)
    end = segment.endNs
    assert.ok(segment.activity >= 0 && segment.activity <= 1)
    assert.ok(segment.label.isWellFormed() && !/\p{Cc}/u.test(segment.label), segment.label)
    assertStorable(segment.startNs)
    assertStorable(segment.endNs)
  }
  if (readable) assert.equal(end, endNs)
  assert.equal(timeline.rows.length, channels.length)
}

function assertUnique(values: string[]): void {
  assert.equal(new Set(values).size, values.length, 'something is told twice')
}

function assertStorable(ns: bigint): void {
  assert.ok(ns >= -MAX_INT64 && ns <= MAX_INT64, `${ns} does not fit into 64 bits`)
}
