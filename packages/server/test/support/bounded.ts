/**
 * A property that takes no longer than this: later runs pass unasked, so a slow machine tries fewer. (fast-check's
 * own limits either leave the last run going on behind our back or count what is left as a failure.)
 */
export function bounded<Arguments extends unknown[]>(
  limitMs: number,
  holds: (...values: Arguments) => Promise<void>,
): (...values: Arguments) => Promise<void> {
  const deadlineMs = Date.now() + limitMs
  return async (...values) => {
    if (Date.now() < deadlineMs) await holds(...values)
  }
}
