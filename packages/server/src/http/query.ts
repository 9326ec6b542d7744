import { invalid } from '../errors.ts'

/** A name is echoed, but not all 16 KiB that a head may have of it. */
const MAX_ECHO_CHARACTERS = 200

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
    if (query.has(name)) throw wrong(name, 'is given more than once in the query')
    query.set(name, value)
  }
  return query
}

function decode(text: string, name = text): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw wrong(name, 'is not well percent-encoded')
  }
}

function wrong(name: string, what: string): Error {
  const shown = name.slice(0, MAX_ECHO_CHARACTERS)
  return invalid(shown, `${shown} ${what}`)
}
