export function median(values: number[]): number {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The line through points whose slope is the median of the slopes of all pairs: half of them may lie. */
export function theilSen(points: [x: number, y: number][]): { slope: number; intercept: number } {
  const slopes: number[] = []
  for (let first = 0; first < points.length; first++) {
    for (let second = first + 1; second < points.length; second++) {
      const [[x1, y1], [x2, y2]] = [points[first] ?? [0, 0], points[second] ?? [0, 0]]
      if (x2 !== x1) slopes.push((y2 - y1) / (x2 - x1))
    }
  }
  const slope = slopes.length > 0 ? median(slopes) : 0
  return { slope, intercept: median(points.map(([x, y]) => y - slope * x)) }
}
