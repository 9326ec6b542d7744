// Nanoseconds are JSON integers beyond what a number holds exactly. They are carried through as the text that they
// are: parsed into a raw JSON value, and written out again as it was.

declare global {
  interface JSON {
    rawJSON(text: string): RawJson
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
  }
}

type RawJson = { rawJSON: string }

/** An integer that JSON.stringify writes in full. In objects that go on the wire it stands for a number. */
export function exactInteger(value: bigint | number): number {
  return typeof value === 'number' ? value : (JSON.rawJSON(String(value)) as unknown as number)
}

/** What a number holds exactly has fewer digits. */
const MANY_DIGITS = /\d{16}/

/** JSON.parse that loses no digit of an integer. */
export function parseExact(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && source && /^-?\d+$/.test(source)
      ? JSON.rawJSON(source)
      : value,
  )
}
