import { SourceError } from '../errors.ts'
import { wrongOption } from '../transport.ts'

/** What can be uploaded: a path (Node), a `Blob` or `File`, or anything that can be read at a place. */
export type UploadSource = string | Blob | ReadableAt

export type ReadableAt = {
  size: number
  /** At least one of the bytes from `offset` on, at most `length`. */
  read(offset: number, length: number): Promise<Uint8Array>
}

/** A source as the upload uses it. */
export type Source = {
  size: number
  name: string | undefined
  /** Fills the buffer from a place on; bytes that are not there any more are an error. */
  readInto(buffer: Uint8Array, offset: number): Promise<void>
  /** A range as a whole, where it costs no memory. */
  blob?(offset: number, length: number): Blob
  /** Throws when the source is not what it was when it was opened. */
  check(): Promise<void>
  close(): Promise<void>
}

export async function openSource(
  source: UploadSource,
  openPath: (path: string) => Promise<Source>,
): Promise<Source> {
  const opened = typeof source === 'string' ? await openPath(source) : openReadable(source)
  if (!Number.isSafeInteger(opened.size) || opened.size < 0)
    throw wrongOption('source', `the size of the source must be a number of bytes; found ${opened.size}`)
  if (opened.size > 0) return opened
  await opened.close()
  throw new SourceError('source_empty', `${opened.name ?? 'the source'} is empty; there is nothing to upload`)
}

function openReadable(source: Blob | ReadableAt): Source {
  if (source instanceof Blob) return openBlob(source)
  if (typeof source?.read !== 'function')
    throw wrongOption('source', 'the source must be a path, a Blob, a File or a { size, read }')
  return {
    size: source.size,
    name: undefined,
    readInto: (buffer, offset) => fill(buffer, offset, (from, length) => source.read(from, length)),
    check: async () => {},
    close: async () => {},
  }
}

function openBlob(blob: Blob): Source {
  const name = 'name' in blob && typeof blob.name === 'string' ? blob.name : undefined
  const read = async (offset: number, length: number) => {
    try {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer())
    } catch (cause) {
      // A File whose file was written to is not readable any more.
      throw new SourceError(
        'source_changed',
        `${name ?? 'the Blob'} was changed or removed while it was read`,
        cause,
      )
    }
  }
  return {
    size: blob.size,
    name,
    readInto: (buffer, offset) => fill(buffer, offset, read),
    blob: (offset, length) => blob.slice(offset, offset + length),
    check: async () => void (await read(0, 1)),
    close: async () => {},
  }
}

async function fill(
  buffer: Uint8Array,
  offset: number,
  read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<void> {
  for (let filled = 0; filled < buffer.length; ) {
    const bytes = await read(offset + filled, buffer.length - filled)
    if (bytes.length === 0 || bytes.length > buffer.length - filled) {
      throw new SourceError(
        'source_changed',
        `the source gave ${bytes.length} bytes at ${offset + filled}; 1 to ${buffer.length - filled} were expected`,
      )
    }
    buffer.set(bytes, filled)
    filled += bytes.length
  }
}
