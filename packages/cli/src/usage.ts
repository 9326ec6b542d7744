/** The command was used wrongly: exit code 2 and a pointer to the help. */
export class UsageError extends Error {}

/** A setting is wrong: exit code 2 too, and its message says all. */
export class WrongSetting extends Error {}

/** Every option of every command; each command says which of them it takes. */
export const options = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  url: { type: 'string' },
  again: { type: 'boolean' },
  channel: { type: 'string' },
  description: { type: 'string' },
  device: { type: 'string' },
  'dry-run': { type: 'boolean' },
  enabled: { type: 'boolean' },
  disabled: { type: 'boolean' },
  events: { type: 'string' },
  'forward-to': { type: 'string' },
  full: { type: 'boolean' },
  issue: { type: 'string' },
  kind: { type: 'string' },
  limit: { type: 'string' },
  'max-duration': { type: 'string' },
  'min-duration': { type: 'string' },
  name: { type: 'string' },
  notes: { type: 'string' },
  org: { type: 'string' },
  parallel: { type: 'string' },
  'part-size': { type: 'string' },
  permissions: { type: 'string' },
  role: { type: 'string' },
  secret: { type: 'string' },
  session: { type: 'string' },
  severity: { type: 'string' },
  since: { type: 'string' },
  site: { type: 'string' },
  status: { type: 'string' },
  test: { type: 'boolean' },
  text: { type: 'string' },
  unknown: { type: 'boolean' },
  until: { type: 'string' },
  wait: { type: 'boolean' },
} as const

export type OptionName = keyof typeof options

export type Flags = {
  [Name in OptionName]?: ((typeof options)[Name]['type'] extends 'boolean' ? boolean : string) | undefined
}

/** Exactly the arguments that the command takes. */
export function expectArguments(given: string[], ...names: string[]): string[] {
  if (given.length !== names.length) {
    const wanted = names.length === 0 ? 'no argument' : names.join(' ')
    throw new UsageError(`expected ${wanted}, found ${given.length === 0 ? 'none' : given.join(' ')}`)
  }
  return given
}

/** A whole number from 1 on. */
export function readCount(option: OptionName, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,6}$/.test(text))
    throw new UsageError(`--${option} is a whole number from 1 on, not ${text}`)
  return Number(text)
}

const units: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30 }

/** `16MiB`, `16M`, `16000000`. */
export function readBytes(option: OptionName, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, digits, unit = ''] = /^(\d{1,15})\s*([kmg]i?)?b?$/i.exec(text) ?? []
  const factor = units[unit.toLowerCase()]
  if (digits === undefined || factor === undefined)
    throw new UsageError(`--${option} is a size such as 16MiB or 8000000, not ${text}`)
  return Number(digits) * factor
}

/** Those that were given, under the names of the API. */
export function given<T extends object>(fields: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: Exclude<T[Key], undefined> }
}
