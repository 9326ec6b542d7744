import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from '../bench/support/stage.ts'
import { openChance } from './chance.ts'
import { soak } from './soak.ts'

test('a short soak: nodes die and connections break, and nothing that was acknowledged is lost', async () => {
  const stage = await openStage()
  try {
    const verdicts = await soak(stage, {
      seed: 7,
      forMs: 1_500,
      workers: 1,
      faults: ['kill an API node', 'cut the clients', 'cut the database', 'store: 503', 'store: answer lost'],
      everyMs: [200, 500],
    })
    assert.deepEqual(
      verdicts.filter(({ holds }) => !holds),
      [],
    )
    const faults = verdicts.find(({ what }) => what === 'faults')
    assert.notEqual(faults?.found, 'none')
  } finally {
    await stage.end()
  }
})

test('chance is the same for the same seed, and forks do not disturb each other', () => {
  const draw = (seed: number, disturbed: boolean) => {
    const chance = openChance(seed)
    const [first, second] = [chance.fork(), chance.fork()]
    if (disturbed) first.next()
    return [second.next(), second.between(1, 6), second.pick(['a', 'b', 'c'])]
  }
  assert.deepEqual(draw(1, false), draw(1, true))
  assert.notDeepEqual(draw(1, false), draw(2, false))
})
