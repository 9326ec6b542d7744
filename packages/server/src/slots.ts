/** The same, but never more than so many at once; others wait for their turn. */
export function withSlots<Given extends unknown[], Result>(
  act: (...given: Given) => Promise<Result>,
  slots: number,
): (...given: Given) => Promise<Result> {
  let free = slots
  const waiting: (() => void)[] = []
  return async (...given) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free--
    try {
      return await act(...given)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}
