// Chance that can be repeated: the same seed gives the same numbers.

export type Chance = {
  /** From 0 to below 1. */
  next(): number
  /** A whole number, both ends included. */
  between(least: number, most: number): number
  pick<T>(from: readonly T[]): T
  /** A chance of its own, which does not depend on how often this one is asked from now on. */
  fork(): Chance
}

export function openChance(seed: number): Chance {
  let state = seed >>> 0
  // Mulberry32: 32 bits of state, well mixed.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    pick(from) {
      const picked = from[between(0, from.length - 1)]
      if (picked === undefined) throw new Error('there is nothing to pick from')
      return picked
    },
    fork: () => openChance(between(0, 2 ** 32 - 1)),
  }
}
