import type { ContentCheck } from './content-check.ts'
import { issue } from './issue.ts'

const MAX_DEPTH = 6
/** Covariances are NaN by convention where they are unknown. */
const unknownByConvention = /covariance/i

/** Values that are not numbers, or infinite. */
export function openFiniteCheck(): ContentCheck {
  let [seen, bad, first, where]: [number, number, number | undefined, string] = [0, 0, undefined, '']
  return {
    see(t, message) {
      seen++
      const found = findNotFinite(message, '', MAX_DEPTH)
      if (found === undefined) return
      bad++
      first ??= t
      where ||= found
    },
    finish() {
      if (bad === 0) return []
      const detail = `${bad} of ${seen} messages that were looked at have values that are no numbers, for example in ${where}`
      return [issue('values_not_finite', { detail, t: first, count: bad })]
    },
  }
}

function findNotFinite(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path
  if (typeof value !== 'object' || value === null || depth === 0) return undefined
  for (const [name, inner] of Object.entries(value)) {
    if (unknownByConvention.test(name)) continue
    const found = findNotFinite(inner, path === '' ? name : `${path}.${name}`, depth - 1)
    if (found !== undefined) return found
  }
  return undefined
}
