import type { ContentCheck } from './content-check.ts'
import { issue } from './issue.ts'
import { numberAt, textAt } from './values.ts'

/** ROS 1 uses 8 and 16 for error and fatal, ROS 2 uses 40 and 50. */
const errorLevels = new Set([8, 16, 40, 50])

/** Errors in the log of the robot. */
export function openLogCheck(): ContentCheck {
  let [seen, errors, first, text]: [number, number, number | undefined, string] = [0, 0, undefined, '']
  return {
    see(t, message) {
      seen++
      if (!errorLevels.has(numberAt(message, 'level') ?? 0)) return
      errors++
      first ??= t
      text ||= textAt(message, 'msg') || textAt(message, 'message')
    },
    finish() {
      if (errors === 0) return []
      const detail = `${errors} of ${seen} log messages that were looked at are errors; the first: ${JSON.stringify(text.slice(0, 160))}`
      return [issue('log_errors', { detail, t: first, count: errors })]
    },
  }
}
