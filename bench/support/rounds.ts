/**
 * Runs the contestants in turn, round after round, so that a slow minute of the machine hits all alike. The
 * order turns around every round; a first round to warm up is not counted.
 */
export async function inRounds<T>(count: number, contestants: (() => Promise<T>)[]): Promise<T[][]> {
  const rounds: T[][] = []
  for (let round = 0; round <= count; round++) {
    const results: T[] = []
    const order = [...contestants.keys()]
    for (const index of round % 2 === 0 ? order : order.reverse()) {
      const run = contestants[index]
      if (run) results[index] = await run()
    }
    if (round > 0) rounds.push(results)
  }
  return rounds
}

export function median(values: number[]): number {
  return quantile(values, 0.5)
}

/** The value below which the given share of the values lies. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Seconds that something took. */
export async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await act()
  return (performance.now() - startMs) / 1000
}
