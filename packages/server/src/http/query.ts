import { invalid } from '../errors.ts'

/** The query of a URL as it was sent: each name once, nothing guessed, nothing dropped. */
export function parseQuery(url: string): Map<string, string> {
  const start = url.indexOf('?')
  const query = new Map<string, string>()
  if (start === -1) return query
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = decode(equals === -1 ? '' : pair.slice(equals + 1), name)
    if (query.has(name)) throw invalid(name, `${name} is given more than once in the query`)
    query.set(name, value)
  }
  return query
}

function decode(text: string, name = text): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid(name, `the query is not well percent-encoded at ${name}`)
  }
}
