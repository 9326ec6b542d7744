import type { ContentCheck } from './content-check.ts'
import { type FoundIssue, issue } from './issue.ts'
import { field, textAt } from './values.ts'

const MAX_FRAMES = 5_000

/** The frames of a recording, from all of its transform channels together. */
export type TransformTree = { check(): ContentCheck; issues(): FoundIssue[] }

export function openTransformTree(): TransformTree {
  const parents = new Map<string, Set<string>>()

  function add(parent: string, child: string): void {
    if (parent === '' || child === '' || parents.size >= MAX_FRAMES) return
    const known = parents.get(child) ?? new Set()
    parents.set(child, known.add(parent))
  }

  return {
    check: () => ({
      see(_t, message) {
        const list = field(message, 'transforms')
        for (const transform of Array.isArray(list) ? list : [message]) {
          add(
            textAt(transform, 'header', 'frame_id') || textAt(transform, 'parent_frame_id'),
            textAt(transform, 'child_frame_id'),
          )
        }
      },
      finish: () => [],
    }),
    issues: () => [...findCycle(parents), ...findParts(parents)],
  }
}

function findCycle(parents: Map<string, Set<string>>): FoundIssue[] {
  for (const [child, known] of parents) {
    if (known.size > 1) {
      return [
        issue('transforms_cycle', {
          detail: `frame ${child} has ${known.size} parents: ${[...known].slice(0, 5).join(', ')}`,
        }),
      ]
    }
  }
  for (const start of parents.keys()) {
    const path = new Set<string>()
    for (
      let frame: string | undefined = start;
      frame !== undefined;
      frame = parents.get(frame)?.values().next().value
    ) {
      if (path.has(frame))
        return [issue('transforms_cycle', { detail: `the frames form a circle at ${frame}` })]
      path.add(frame)
    }
  }
  return []
}

function findParts(parents: Map<string, Set<string>>): FoundIssue[] {
  const rootOf = (start: string): string => {
    const path = new Set<string>()
    let frame = start
    for (;;) {
      const parent: string | undefined = parents.get(frame)?.values().next().value
      if (parent === undefined || path.has(parent)) return frame
      path.add(parent)
      frame = parent
    }
  }
  const roots = new Set([...parents.keys()].map(rootOf))
  if (roots.size <= 1) return []
  const names = [...roots].sort()
  return [
    issue('transforms_disconnected', {
      detail: `the frames are in ${roots.size} trees that nothing connects, with the roots ${names.slice(0, 8).join(', ')}`,
      count: roots.size,
    }),
  ]
}
