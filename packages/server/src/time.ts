import { invalid } from './errors.ts'

const ISO = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):(\d\d))$/

/**
 * An ISO 8601 time with `Z` or an offset. Our own times have whole milliseconds: a finer one is rounded up,
 * which leaves both "at or after" and "before" exact.
 */
export function parseTime(param: string, text: string): Date {
  const match = ISO.exec(text)
  const time = match && readTime(match)
  if (!time) {
    throw invalid(
      param,
      `${param} must be an ISO 8601 time with Z or an offset, such as 2026-03-14T09:26:53Z`,
    )
  }
  return time
}

function readTime(match: RegExpExecArray): Date | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((text) => Number(text ?? 0))
  const [offsetHour, offsetMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  const local = new Date(0)
  local.setUTCFullYear(year, month - 1, day)
  local.setUTCHours(hour, minute, second, Math.ceil(Number(`0.${match[7] ?? 0}`) * 1000))
  // A date that does not exist, such as the 30th of February, has rolled over into another month.
  const exists = local.getUTCMonth() === month - 1 && month >= 1 && day >= 1
  const inRange = year >= 1 && hour < 24 && minute < 60 && second < 60 && offsetHour < 24 && offsetMinute < 60
  if (!inRange || !exists) return undefined
  const offsetMs = (match[8] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute) * 60_000
  return new Date(local.getTime() - offsetMs)
}
