import { cleanText } from './bytes.ts'
import { copyTo } from './hdf5/copy.ts'
import { LibraryFailure, openLibrary } from './hdf5/library.ts'
import { tellMeasurement } from './hdf5/measurement.ts'
import { readSuperblock, SIGNATURE_OFFSETS, signatureAt } from './hdf5/superblock.ts'
import type { Reader, Timebase, Visitor } from './recording.ts'

// HDF5: a tree of groups and datasets. The library that reads it needs a file of this machine, so it is given a copy.
// Told is what is known of rows without reading them: how many, how large, and when.

const RELATIVE: Timebase = { kind: 'relative', originUnixNs: undefined }

export const hdf5: Reader = {
  format: 'hdf5',
  recognises: (head) => SIGNATURE_OFFSETS.some((offset) => signatureAt(head, offset)),
  async scan(source, visitor, options) {
    const superblock = await readSuperblock(source)
    if (superblock) {
      visitor.finding(superblock)
      return RELATIVE
    }
    const path = await copyTo(options.tempDir, source, visitor, options.signal)
    try {
      const library = await openLibrary(path, options.signal)
      try {
        return await tellMeasurement({ library, fileBytes: source.size(), visitor, options })
      } finally {
        await library.close()
      }
    } catch (error) {
      reportFailure(visitor, error)
      return RELATIVE
    }
  },
}

function reportFailure(visitor: Visitor, error: unknown) {
  if (!(error instanceof LibraryFailure)) throw error
  const why = cleanText(Buffer.from(error.message), 200)
  const detail = `the HDF5 library gives up on the file (${why}); what was not told until then is lost`
  visitor.finding({ code: 'chunk_corrupt', detail })
}
