import type pg from 'pg'

// The statements of a request are few and always the same: each connection parses and plans them once. A page of a
// list is planned anew for its values, because the best index depends on them; and so is what pulls jobs from a queue,
// because its length does.

/** Statements with lists of values have endlessly many texts. */
const MAX_PREPARED = 256
const PREPARABLE = /^\s*(select|insert|update|delete|with)\b/i
const PLANNED_ANEW = /\b(limit|fetch first) \$|\bskip locked\b/i

const names = new Map<string, string>()

export function prepareStatements(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const naming = (text: unknown, ...rest: unknown[]) => {
    const [values, ...others] = rest
    const name = typeof text === 'string' && Array.isArray(values) ? nameOf(text) : undefined
    return name === undefined ? query(text, ...rest) : query({ name, text, values }, ...others)
  }
  client.query = naming as typeof client.query
}

function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined) return known
  if (names.size >= MAX_PREPARED || !PREPARABLE.test(text) || PLANNED_ANEW.test(text)) return undefined
  const name = `tapedeck ${names.size}`
  names.set(text, name)
  return name
}
