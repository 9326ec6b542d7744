import type pg from 'pg'

// The statements of a request are few and always the same: each connection parses and plans them once. A page of a
// list is planned anew for its values, because the best index depends on them.

/** Statements with lists of values have endlessly many texts. */
const MAX_PREPARED = 256
const PREPARABLE = /^(select|insert|update|delete|with)\b/
const PAGE = /\b(limit|fetch first) \$/

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
  if (names.size >= MAX_PREPARED || !PREPARABLE.test(text) || PAGE.test(text)) return undefined
  const name = `tapedeck ${names.size}`
  names.set(text, name)
  return name
}
