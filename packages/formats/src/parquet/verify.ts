import { noteDamage, pagesOf, unpackPage } from './pages.ts'
import type { Reading } from './reading.ts'

/** Every page of the columns that were not read already: its checksum, if it has one, and whether it unpacks. */
export async function verifyPages(reading: Reading, read: Set<string | undefined>): Promise<void> {
  const { source, footerAt, damaged, metadata, options } = reading
  for (const chunk of metadata.row_groups.flatMap(({ columns }) => columns)) {
    const meta = chunk.meta_data
    if (!meta || (meta.path_in_schema.length === 1 && read.has(meta.path_in_schema[0]))) continue
    for await (const page of pagesOf(source, chunk, footerAt, damaged)) {
      options.signal.throwIfAborted()
      if (!page.intact) continue
      try {
        await unpackPage(page, meta)
      } catch (error) {
        noteDamage(damaged, page.at, error)
      }
    }
  }
}
