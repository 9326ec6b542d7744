import { setTimeout as delay } from 'node:timers/promises'

// Shorter than the database lets a transaction idle, so that who waits in one is told what for.
const DEADLINE_MS = 25_000
const EVERY_MS = 10

/** Looks again and again until something is there; what was awaited is named when it never comes. */
export async function until<T>(
  awaited: string,
  look: () => Promise<T | false | undefined>,
  withinMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== false && found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`waited in vain until ${awaited}`)
    await delay(EVERY_MS)
  }
}
