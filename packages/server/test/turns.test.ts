import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { FEWEST, MOST, openTurns, type Turns } from '../src/http/turns.ts'
import { undoAfter } from './embedded/undo.ts'
import { until } from './support/until.ts'

test('an event loop that rests lets all begin at once', async (t) => {
  const turns = open(t)
  const crowd = takeMany(turns, 'write', MOST)
  await nextRound()
  assert.equal(crowd.begun(), MOST)
  crowd.end()
  await crowd.all
})

test('one that never rests lets a crowd of one kind begin at once', async (t) => {
  const turns = open(t)
  const endMs = performance.now() + 1_000
  await neverRestUntil(
    () => performance.now() > endMs,
    () => void turns.take('read', async () => {}),
  )
  assert.equal(turns.atOnce(), MOST)
})

test('one that never rests lets few of two kinds begin, and neither crowd keeps the other from its turn', async (t) => {
  const turns = open(t)
  await neverRest(turns)
  const [writes, reads] = [takeMany(turns, 'write', 10), takeMany(turns, 'read', 10)]
  // Only what is due at once runs: no sample is taken meanwhile.
  await Promise.resolve()
  await Promise.resolve()
  assert.deepEqual([writes.begun(), reads.begun()], [FEWEST, FEWEST])
  writes.end()
  reads.end()
  await Promise.all([writes.all, reads.all])
  assert.deepEqual([writes.begun(), reads.begun()], [10, 10])
})

test('whoever waits for something else leaves the turn to others', async (t) => {
  const turns = open(t)
  await neverRest(turns)
  const stuck = takeMany(turns, 'write', FEWEST)
  let next = false
  const after = turns.take('write', async () => {
    next = true
  })
  await neverRestUntil(
    () => next,
    () => void turns.take('read', async () => {}),
  )
  stuck.end()
  await Promise.all([after, stuck.all])
})

test('work that fails ends its turn', async (t) => {
  const turns = open(t)
  await neverRest(turns)
  for (let count = 0; count < 3 * FEWEST; count++) {
    await assert.rejects(
      turns.take('write', async () => {
        throw new Error('refused')
      }),
      /refused/,
    )
  }
})

test('once it rests again, all that it can do at once begin', async (t) => {
  const turns = open(t)
  await neverRest(turns)
  await until('it lets all begin', async () => turns.atOnce() === MOST)
})

function open(t: TestContext): Turns {
  const turns = openTurns()
  undoAfter(t, () => turns.close())
  return turns
}

function takeMany(turns: Turns, lane: 'read' | 'write', count: number) {
  const ended = Promise.withResolvers<void>()
  let begun = 0
  const all = Promise.all(
    Array.from({ length: count }, () =>
      turns.take(lane, () => {
        begun++
        return ended.promise
      }),
    ),
  )
  return { all, begun: () => begun, end: () => ended.resolve() }
}

/** Until the fewest begin at once. */
function neverRest(turns: Turns): Promise<void> {
  return neverRestUntil(
    () => turns.atOnce() === FEWEST,
    () => {
      void turns.take('read', async () => {})
      void turns.take('write', async () => {})
    },
  )
}

async function neverRestUntil(done: () => boolean, meanwhile: () => void): Promise<void> {
  while (!done()) {
    meanwhile()
    const endMs = performance.now() + 20
    while (performance.now() < endMs);
    await nextRound()
  }
}
