const MAX_BATCH = 500

/**
 * Does many things in one go: what is asked for while a batch is under way makes up the next one. `gatherMs` waits a
 * little more for company. The work returns how to answer each.
 */
export function inBatches<Item, Result>(
  work: (items: Item[]) => Promise<(item: Item) => Result>,
  { gatherMs = 0 } = {},
): {
  do(item: Item): Promise<Result>
  /** Resolves when all that was asked for is done. */
  idle(): Promise<void>
} {
  let asked: { item: Item; done: PromiseWithResolvers<Result> }[] = []
  let working: Promise<void> | undefined

  async function workOff(): Promise<void> {
    while (asked.length > 0) {
      await new Promise((resolve) => (gatherMs > 0 ? setTimeout(resolve, gatherMs) : setImmediate(resolve)))
      const batch = asked.slice(0, MAX_BATCH)
      asked = asked.slice(MAX_BATCH)
      try {
        const answer = await work(batch.map(({ item }) => item))
        for (const { item, done } of batch) done.resolve(answer(item))
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    working = undefined
  }

  return {
    do(item) {
      const done = Promise.withResolvers<Result>()
      asked.push({ item, done })
      working ??= workOff()
      return done.promise
    },
    async idle() {
      await working
    },
  }
}
