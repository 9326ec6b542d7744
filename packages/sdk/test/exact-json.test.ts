import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseExact, stringifyExact } from '../src/exact-json.ts'

test('times are bigints, whatever their size; durations and the rest are numbers', () => {
  const text =
    '{"t_ns": 1773480413589123457, "first_t_ns":-5,"t_start_ns":0, "bin_ns": 1000000, "jitter_ns":1.5, "count": 3}'
  assert.deepEqual(parseExact(text), {
    t_ns: 1773480413589123457n,
    first_t_ns: -5n,
    t_start_ns: 0n,
    bin_ns: 1000000,
    jitter_ns: 1.5,
    count: 3,
  })
})

test('what looks like a time inside a text stays as it is', () => {
  const value = { notes: 'he said "t_ns": 12, and \\', detail: '"t_ns":9007199254740993}', t_ns: 7n }
  assert.deepEqual(parseExact(stringifyExact(value)), value)
})

test('a time that is not there is null', () => {
  assert.deepEqual(parseExact('{"first_t_ns": null, "last_t_ns": null}'), {
    first_t_ns: null,
    last_t_ns: null,
  })
})

test('no digit is lost on the way out and back', () => {
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      tie('object'),
    ),
    object: fc.record(
      {
        t_ns: fc.bigInt(-(2n ** 70n), 2n ** 70n),
        notes: fc.string(),
        'a"b\\': tie('value'),
        list: fc.array(tie('value')),
      },
      { requiredKeys: [] },
    ),
  })).object
  // What JSON itself makes of the same value (a prototype of null, -0) is not the question here.
  fc.assert(
    fc.property(tree, (value) => {
      const text = stringifyExact(value)
      assert.equal(stringifyExact(parseExact(text)), text)
    }),
  )
})

test('what is no JSON is an error', () => {
  for (const text of ['', '{', '{"t_ns": }', '{"t_ns": 01}x', '<html>']) {
    assert.throws(() => parseExact(text), SyntaxError, text)
  }
})
