import type { TestContext } from 'node:test'

const stacks = new WeakMap<TestContext, AsyncDisposableStack>()

/** Undoes what a test has set up, the last first. t.after would remove a directory before its server has stopped. */
export function undoAfter(t: TestContext, undo: () => unknown): void {
  const stack = stacks.get(t) ?? new AsyncDisposableStack()
  if (!stacks.has(t)) t.after(() => stack.disposeAsync())
  stacks.set(t, stack)
  stack.defer(async () => {
    await undo()
  })
}
