const WINDOW_MS = 250

/** How many are done in a quarter of a second, as it was last measured. */
export function openPace(): { count(): void; perWindow(): number } {
  let sinceMs = performance.now()
  let counted = 0
  let perWindow = 0
  return {
    count() {
      counted++
    },
    perWindow() {
      const elapsedMs = performance.now() - sinceMs
      if (elapsedMs < WINDOW_MS) return perWindow
      perWindow = (counted * WINDOW_MS) / elapsedMs
      counted = 0
      sinceMs += elapsedMs
      return perWindow
    },
  }
}
