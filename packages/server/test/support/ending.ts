import { after } from 'node:test'

export type Ending = { after(end: () => Promise<unknown>): void }

/**
 * Ends with the file what is set up in its `before`, the last first. `after` called in there would end it with
 * the first test.
 */
export function endWithFile(): Ending {
  const stack = new AsyncDisposableStack()
  after(() => stack.disposeAsync())
  return {
    after: (end) =>
      stack.defer(async () => {
        await end()
      }),
  }
}
