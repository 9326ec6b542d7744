import { type Lz4, openLz4 } from '../lz4.ts'
import { MAX_CHUNK_BYTES } from '../recording.ts'
import { type Bunzip2, loadBunzip2 } from './bz2.ts'
import { type BagRecord, textOf, u32Of } from './records.ts'

export type Chunk = {
  at: number
  dataAt: number
  dataBytes: number
  /** Uncompressed. */
  sizeBytes: number
  compression: string
  /** The file ends inside of it. */
  isCut?: boolean
  /** Its data and what follows, where it is at hand already. */
  loaded?: Uint8Array
}

/** The records of a chunk, as far as they could be had; `fault` says why that is not all. */
export type Unpacked = { bytes: Uint8Array; fault: string | undefined }
export type Unpacker = (chunk: Chunk, data: Uint8Array) => Promise<Unpacked>

/** No LZ4 block holds more: every byte of a length adds 255. */
const LZ4_MAX_RATIO = 255

export function toChunk({ at, dataAt, dataBytes, fields }: BagRecord): Chunk {
  const compression = textOf(fields, 'compression') || 'none'
  const sizeBytes = compression === 'none' ? dataBytes : (u32Of(fields, 'size') ?? 0)
  return { at, dataAt, dataBytes, sizeBytes, compression }
}

/** More than is ever unpacked, or packed in a way that is not read: only an index can tell what such a chunk holds. */
export function whyUnreadable({ compression, dataBytes, sizeBytes }: Chunk): string | undefined {
  if (!['none', 'lz4', 'bz2'].includes(compression)) {
    return `is compressed by '${compression}', and only none, lz4 and bz2 are read`
  }
  if (Math.max(dataBytes, sizeBytes) <= MAX_CHUNK_BYTES) return undefined
  return `says that it holds ${Math.max(dataBytes, sizeBytes)} bytes, and at most ${MAX_CHUNK_BYTES} are unpacked`
}

/** What a scan unpacks with; the libraries are loaded when the first chunk needs them. */
export function openUnpacker(): Unpacker {
  const lz4 = openLz4()
  let bunzip2: Bunzip2 | undefined
  return async ({ compression, sizeBytes }, data) => {
    if (compression === 'none') return { bytes: data, fault: undefined }
    if (compression === 'lz4') return unlz4(lz4, data, sizeBytes)
    bunzip2 ??= await loadBunzip2()
    return unbz2(bunzip2, data, sizeBytes)
  }
}

async function unlz4(lz4: Lz4, data: Uint8Array, sizeBytes: number): Promise<Unpacked> {
  if (sizeBytes > data.length * LZ4_MAX_RATIO) {
    return nothing(`says that its ${data.length} bytes of lz4 hold ${sizeBytes}, which they cannot`)
  }
  const bytes = await lz4.decompress(data, sizeBytes)
  if (bytes) return compared(bytes, sizeBytes)
  const part = await lz4.salvage(data, sizeBytes)
  return {
    bytes: part,
    fault: `is not a sound lz4 frame; ${part.length} bytes of ${sizeBytes} came out of it`,
  }
}

function unbz2(bunzip2: Bunzip2, data: Uint8Array, sizeBytes: number): Unpacked {
  try {
    return compared(bunzip2(data, sizeBytes), sizeBytes)
  } catch (error) {
    return nothing(`cannot be decompressed: ${error instanceof Error ? error.message : error}`)
  }
}

function compared(bytes: Uint8Array, sizeBytes: number): Unpacked {
  const fault = `holds ${bytes.length} bytes where its header says ${sizeBytes}`
  return { bytes, fault: bytes.length === sizeBytes ? undefined : fault }
}

function nothing(fault: string): Unpacked {
  return { bytes: new Uint8Array(), fault }
}
