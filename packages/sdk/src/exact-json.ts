// Times inside recordings are JSON integers beyond what a number holds exactly; here they are bigints. Which fields
// they are is known by their names, so a field has one type whatever its value.

const TIME = /^(?:t|\w+_t|t_\w+)_ns$/

/** `t_ns`, `first_t_ns`, `t_start_ns`: a moment, not a duration such as `jitter_ns`. */
export function isTime(name: string): boolean {
  return TIME.test(name)
}

// One string of JSON at a time, so that nothing inside a string is taken for a field; then the integer behind it.
const FIELD = /"([^"\\]*(?:\\.[^"\\]*)*)"(?:(\s*:\s*)(-?\d+)(?=[\s,}\]]))?/g

/** JSON.parse in which times lose no digit. */
export function parseExact(text: string): unknown {
  if (!text.includes('_ns"')) return JSON.parse(text)
  const quoted = text.replaceAll(
    FIELD,
    (found, name: string, colon: string | undefined, digits: string | undefined) =>
      digits !== undefined && isTime(name) ? `"${name}"${colon}"${digits}"` : found,
  )
  return JSON.parse(quoted, (name, value: unknown) =>
    typeof value === 'string' && isTime(name) && /^-?\d+$/.test(value) ? BigInt(value) : value,
  )
}

/** The other way round: bigints are written as the integers that they are. */
export function stringifyExact(value: unknown, indent = 0): string {
  const integers: string[] = []
  const marker = `\u0000${Math.random().toString(36).slice(2)}:`
  const text = JSON.stringify(
    value,
    (_name, field: unknown) => {
      if (typeof field !== 'bigint') return field
      integers.push(String(field))
      return `${marker}${integers.length - 1}`
    },
    indent,
  )
  if (integers.length === 0) return text
  const written = JSON.stringify(marker).slice(1, -1)
  return text.replaceAll(
    new RegExp(`"${written.replaceAll('\\', '\\\\')}(\\d+)"`, 'g'),
    (_found, index: string) => integers[Number(index)] ?? '',
  )
}
