import type { ContentCheck } from './content-check.ts'
import { issue } from './issue.ts'
import { numberAt, textAt } from './values.ts'

/** ROS 1 uses 8 and 16 for error and fatal, ROS 2 uses 40 and 50; Foxglove uses 4, which is a warning in ROS 1, and 5. */
const rosLevels = new Set([8, 16, 40, 50])
const foxgloveLevels = new Set([4, 5])

/** Errors in the log of the robot. */
export function openLogCheck(schema: string): ContentCheck {
  const errorLevels = schema.startsWith('foxglove.') ? foxgloveLevels : rosLevels
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
