import type { Reader } from './recording.ts'

export type Detected = { reader: Reader | undefined; byName: Reader | undefined; byMagic: Reader | undefined }

/** The bytes decide; the name is asked where they say nothing. */
export function detectAmong(readers: Reader[], head: Uint8Array, filename: string): Detected {
  const name = filename.toLowerCase()
  const byName = readers.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension)))
  // Where several recognise the bytes, as may happen with text, the one that the name asks for is meant.
  const byMagic = byName?.recognises(head) ? byName : readers.find((reader) => reader.recognises(head))
  return { reader: byMagic ?? byName, byName, byMagic }
}
