import type { Instant } from './linear/timeline.ts'

const pattern =
  /^\s*(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,12}))?\s*(Z|UTC|[+-]\d{2}:?\d{2})?\s*$/i

/** ISO 8601 to the nanosecond, which `Date` does not keep. Without a zone it is UTC. */
export function parseIsoTime(text: string): Instant | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match
  const ms = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  )
  // Date.UTC carries the 31st of February over into March; a file that says so is damaged.
  if (new Date(ms).getUTCDate() !== Number(day) || Number(hour) > 23 || Number(minute) > 59) return undefined
  return { sec: ms / 1000 - zoneSeconds(zone), nano: Number(fraction.slice(0, 9).padEnd(9, '0')) }
}

function zoneSeconds(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? []
  return sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 3600 + Number(minutes) * 60)
}
