import type { Block } from '../linear/sweep.ts'

// Just enough of XML to walk a file of any size through a window: tags in order, comments and CDATA passed over. A
// parser that builds a tree would need many times the size of the file.

/** Longest element or comment that is waited for. */
export const MAX_ELEMENT_BYTES = 1 << 20

export type Tag = {
  /** Without a prefix, in lower case; begins with `/` where it closes. */
  name: string
  at: number
  /** Index behind its `>`. */
  end: number
  selfClosing: boolean
}

/** The next tag from `from` on. A number: from there on it may be complete when more bytes come. */
export function nextTag({ bytes, last }: Block, from: number): Tag | number | undefined {
  for (let at = bytes.indexOf(LESS, from); at >= 0; ) {
    const end = markupEnd(bytes, at)
    if (end === undefined) {
      if (!last && bytes.length - at < MAX_ELEMENT_BYTES) return at
      // No tag is that long: a `<` that means nothing. A comment without an end swallows what is behind it.
      const isComment = bytes[at + 1] === EXCLAMATION || bytes[at + 1] === QUESTION
      at = bytes.indexOf(LESS, at + (isComment ? MAX_ELEMENT_BYTES : 1))
      continue
    }
    const name = tagName(bytes, at + 1, end)
    if (name !== '') return { name, at, end, selfClosing: bytes[end - 2] === SLASH }
    at = bytes.indexOf(LESS, end)
  }
  return undefined
}

const LESS = 0x3c
const GREATER = 0x3e
const SLASH = 0x2f
const COLON = 0x3a
const EXCLAMATION = 0x21
const QUESTION = 0x3f

/** Empty where what follows the `<` is no name. */
function tagName(bytes: Uint8Array, from: number, end: number): string {
  const slash = bytes[from] === SLASH ? '/' : ''
  let start = from + slash.length
  let at = start
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte === COLON) start = at + 1
    else if (!isNameByte(byte)) break
  }
  return at === start ? '' : slash + text(bytes, start, at).toLowerCase()
}

/** Letters, digits, `_`, `-` and `.`. */
function isNameByte(byte: number): boolean {
  const letter = byte | 0x20
  return (
    (letter >= 0x61 && letter <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x5f ||
    byte === 0x2d ||
    byte === 0x2e
  )
}

/** Index behind the tag, comment, CDATA or declaration at `at`; undefined where it does not end. */
function markupEnd(bytes: Uint8Array, at: number): number | undefined {
  if (bytes[at + 1] === QUESTION) return endOf(bytes, '?>', at + 2)
  if (bytes[at + 1] === EXCLAMATION) {
    const head = text(bytes, at, at + 9)
    if (head.startsWith('<!--')) return endOf(bytes, '-->', at + 4)
    if (head.startsWith('<![CDATA[')) return endOf(bytes, ']]>', at + 9)
  }
  let quote = 0
  const limit = Math.min(bytes.length, at + MAX_ELEMENT_BYTES)
  for (let index = at + 1; index < limit; index++) {
    const byte = bytes[index]
    if (quote !== 0) {
      if (byte === quote) quote = 0
    } else if (byte === 0x22 || byte === 0x27) quote = byte
    else if (byte === GREATER) return index + 1
    else if (byte === LESS) return index
  }
  return undefined
}

function endOf(bytes: Uint8Array, mark: string, from: number): number | undefined {
  const found = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(mark, from, 'latin1')
  return found < 0 ? undefined : found + mark.length
}

function text(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, Math.min(to, bytes.length) - from).toString(
    'latin1',
  )
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The text of an element, as written between its tags. */
export function plainText(bytes: Uint8Array, from: number, to: number): string {
  const markup = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
  if (!/[<&]/.test(markup)) return markup.trim()
  return markup
    .replaceAll(/<!\[CDATA\[([\s\S]*?)\]\]>|<[^>]*>|&(\w+);/g, (_, cdata?: string, entity?: string) =>
      cdata !== undefined ? cdata : entity !== undefined ? (entities[entity] ?? '') : '',
    )
    .trim()
}
