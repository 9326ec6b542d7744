import type { Reader } from './recording.ts'

/** A reader that is loaded once a file may be for it: a scan is a process of its own, and needs one of them. */
export type Shelved = {
  /** Lower case, with the dot. */
  extensions: string[]
  load(): Promise<Reader>
}

export type Detected = { reader: Reader | undefined; byName: Reader | undefined; byMagic: Reader | undefined }

/** The bytes decide; the name is asked where they say nothing. */
export async function detectAmong(shelf: Shelved[], head: Uint8Array, filename: string): Promise<Detected> {
  const name = filename.toLowerCase()
  const named = shelf.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension)))
  const byName = await named?.load()
  // Where several recognise the bytes, as may happen with text, the one that the name asks for is meant.
  const byMagic = byName?.recognises(head) ? byName : await firstToRecognise(shelf, head)
  return { reader: byMagic ?? byName, byName, byMagic }
}

async function firstToRecognise(shelf: Shelved[], head: Uint8Array): Promise<Reader | undefined> {
  for (const { load } of shelf) {
    const reader = await load()
    if (reader.recognises(head)) return reader
  }
  return undefined
}
