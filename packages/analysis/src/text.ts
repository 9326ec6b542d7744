/** Text that quotes a file or a library, which may say anything: on one line, well-formed, and not too long. */
export function cleanLine(text: string, maxCharacters: number): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text
  return cut.replaceAll(/\p{Cc}/gu, '\uFFFD').toWellFormed()
}
