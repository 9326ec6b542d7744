/** How often which period occurs, in memory that does not grow. What repeats exactly is told exactly. */
export type Periods = {
  /** Positive nanoseconds. */
  add(ns: number): void
  /** Shortest first; each stands for the mean of those that are alike to about one percent. */
  sorted(): Period[]
  median(): number | undefined
}

export type Period = { ns: number; count: number }

export function openPeriods(): Periods {
  const steps = new Map<number, { count: number; sum: number }>()
  const sorted = () =>
    [...steps.values()].map(({ count, sum }) => ({ ns: sum / count, count })).sort((a, b) => a.ns - b.ns)
  return {
    add(ns) {
      const step = stepOf(ns)
      const known = steps.get(step)
      if (known) {
        known.count++
        known.sum += ns
      } else steps.set(step, { count: 1, sum: ns })
    },
    sorted,
    median: () => weightedMedian(sorted()),
  }
}

const asDouble = new Float64Array(1)
const asWords = new Uint32Array(asDouble.buffer)

/**
 * Exponent and first six bits of the fraction: 64 steps to the octave, without a logarithm. Rounded up to the next step
 * from its middle on, so that round numbers do not lie on a border. Every machine we run on is little-endian.
 */
function stepOf(ns: number): number {
  asDouble[0] = ns * (1 + 1 / 256)
  return (asWords[1] ?? 0) >>> 14
}

export function weightedMedian(sorted: Period[]): number | undefined {
  const total = sorted.reduce((sum, { count }) => sum + count, 0)
  let passed = 0
  for (const { ns, count } of sorted) {
    passed += count
    if (passed * 2 >= total) return ns
  }
  return undefined
}
