import type { Clock } from '../../src/clock.ts'

export type TestClock = Clock & { advance(ms: number): void }

/** The system's clock, set ahead by as much as the test wants. */
export function testClock(): TestClock {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    advance(ms) {
      aheadMs += ms
    },
  }
}
