import type { Ending } from '../support/ending.ts'

const stacks = new WeakMap<Ending, AsyncDisposableStack>()

/** Undoes what a test or a file has set up, the last first. t.after would remove a directory before its server has stopped. */
export function undoAfter(t: Ending, undo: () => unknown): void {
  const stack = stacks.get(t) ?? new AsyncDisposableStack()
  if (!stacks.has(t)) t.after(() => stack.disposeAsync())
  stacks.set(t, stack)
  stack.defer(async () => {
    await undo()
  })
}
