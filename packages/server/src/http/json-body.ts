import { ApiError } from '../errors.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** One JSON value in UTF-8 with each field once. `JSON.parse` alone would keep the last of two silently. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  refuseDeep(text)
  const value = parse(text)
  const twice = findRepeatedField(text)
  if (twice !== undefined) {
    throw new ApiError('body_invalid', `the body names the field ${JSON.stringify(twice)} twice`, {
      param: twice,
    })
  }
  if (hasLoneSurrogate(text, value)) {
    throw new ApiError('body_invalid', 'the body has half of a surrogate pair, which is not text')
  }
  return value
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new ApiError('body_invalid', 'the body is not valid UTF-8')
  }
}

/** No request of ours comes near; nesting without end would cost the parser seconds. */
const MAX_DEPTH = 32

function refuseDeep(text: string): void {
  let depth = 0
  for (const [token] of text.matchAll(BRACKET)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    if (depth > MAX_DEPTH)
      throw new ApiError('body_invalid', `the body is nested deeper than ${MAX_DEPTH} levels`)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'unknown'
    throw new ApiError('body_invalid', `the body is not valid JSON: ${reason}`)
  }
}

const BRACKET = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs

/** `text` is known to be valid JSON, so strings and brackets tell all. */
function findRepeatedField(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = []
  let name: string | undefined
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':' && name !== undefined) {
      const fields = open.at(-1)
      if (fields?.has(name)) return name
      fields?.add(name)
    }
    name = token.startsWith('"')
      ? token.includes('\\')
        ? String(JSON.parse(token))
        : token.slice(1, -1)
      : undefined
  }
  return undefined
}

/** Decoded UTF-8 has none; only an escape can make one. */
function hasLoneSurrogate(text: string, value: unknown): boolean {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return false
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string' && !next.isWellFormed()) return true
    if (Array.isArray(next)) waiting.push(...next)
    else if (typeof next === 'object' && next)
      for (const entry of Object.entries(next)) waiting.push(...entry)
  }
  return false
}
