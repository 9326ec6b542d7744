import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLanes, type Waiting } from '../../src/webhooks/lanes.ts'

const MAX_IN_FLIGHT = 2_000

/** Lanes whose deliveries end when they are told to. */
function open() {
  const running = new Map<string, () => void>()
  let roomFor = 0
  const lanes = openLanes({
    prepare: () => {},
    run: ({ deliveryId }) => new Promise((resolve) => running.set(deliveryId, resolve)),
    onRoom: () => roomFor++,
  })
  const end = async (deliveryId: string) => {
    running.get(deliveryId)?.()
    running.delete(deliveryId)
    await new Promise(setImmediate)
  }
  return { lanes, running, end, rooms: () => roomFor }
}

function waiting(endpointId: string, number: number): Waiting {
  const deliveryId = `${endpointId}-${number}`
  return { jobId: deliveryId, deliveryId, endpointId, attemptsBefore: 0, pulledAtMs: 0 }
}

test('a lane gives one at a time until its receiver has answered, then more and more', async () => {
  const { lanes, running, end } = open()
  for (let number = 0; number < 100; number++) lanes.enter(waiting('a', number))
  assert.equal(running.size, 1)
  for (const width of [2, 4, 8, 16, 32, 32]) {
    lanes.answered('a')
    await end([...running.keys()][0] ?? '')
    assert.equal(running.size, width)
  }
})

test('all lanes together have an end, and whoever had to wait for it goes first', async () => {
  const { lanes, running, end } = open()
  for (let number = 0; number < MAX_IN_FLIGHT; number++) lanes.enter(waiting(`endpoint-${number}`, 1))
  lanes.enter(waiting('endpoint-0', 2))
  lanes.enter(waiting('late', 1))
  assert.equal(running.size, MAX_IN_FLIGHT)
  await end('endpoint-0-1')
  assert.ok(running.has('late-1'))
  await end('endpoint-1-1')
  assert.ok(running.has('endpoint-0-2'))
})

test('an endpoint that was left out of a pull is heard of when it has room', async () => {
  const { lanes, end, rooms } = open()
  lanes.enter(waiting('a', 1))
  assert.deepEqual(lanes.busy(), ['a'])
  await end('a-1')
  assert.equal(rooms(), 1)
  assert.deepEqual(lanes.busy(), [])
})

test('timeouts of attempts that began before the first of them was noticed are one silence', async () => {
  const { lanes } = open()
  lanes.enter(waiting('a', 1))
  const beganMs = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 2))
  assert.equal(lanes.timedOut('a', beganMs), true)
  assert.equal(lanes.timedOut('a', beganMs), false)
  assert.equal(lanes.timedOut('a', performance.now()), true)
})
