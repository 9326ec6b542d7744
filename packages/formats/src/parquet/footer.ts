import { type FileMetaData, parquetMetadata } from 'hyparquet'
import type { Finding, Source } from '../recording.ts'
import { isSoundStruct } from './thrift.ts'

// A Parquet file ends with its index: the footer, its length, and `PAR1`. Without it not even the columns are known.

/** Footers grow with columns times row groups; beyond this, its objects would not fit into memory. */
const MAX_FOOTER_BYTES = 32 << 20
const TAIL_BYTES = 8
const MAGIC = 'PAR1'
const MAGIC_ENCRYPTED = 'PARE'

export type Footer = { metadata: FileMetaData; at: number }

export async function readFooter(source: Source): Promise<Footer | Finding> {
  const size = source.size()
  if (size === 0) return { code: 'recording_empty', detail: 'the file has no bytes' }
  const tail = await source.read(Math.max(0, size - TAIL_BYTES), Math.min(size, TAIL_BYTES))
  const magic = String.fromCharCode(...tail.subarray(-4))
  if (magic === MAGIC_ENCRYPTED) {
    return { code: 'messages_undecodable', detail: 'the table is encrypted: its footer says so (PARE)' }
  }
  if (magic !== MAGIC || size < TAIL_BYTES + 4) return truncated(size)
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true)
  const at = size - TAIL_BYTES - length
  if (at < 4) return corrupt(`says that it is ${length} bytes long, in a file of ${size}`)
  if (length > MAX_FOOTER_BYTES)
    return corrupt(`is ${length} bytes long; no more than ${MAX_FOOTER_BYTES} are read`)
  return parse((await source.read(at, length + TAIL_BYTES)).slice(), at)
}

function parse(bytes: Uint8Array, at: number): Footer | Finding {
  if (!isSoundStruct(bytes.subarray(0, -TAIL_BYTES)))
    return corrupt(`at byte ${at} is damaged, or larger than any that is read`)
  try {
    return { metadata: parquetMetadata(bytes, { geoparquet: false }), at }
  } catch {
    // The library throws at whatever it misses; what that was would tell nobody anything.
    return corrupt(`at byte ${at} is damaged: it describes no table`)
  }
}

function truncated(size: number): Finding {
  const detail =
    `the ${size} bytes do not end with the footer of a table (${MAGIC}): writers put it last, and without it neither ` +
    'columns nor rows are known'
  return { code: 'recording_truncated', detail, value: size }
}

function corrupt(what: string): Finding {
  return { code: 'chunk_corrupt', detail: `the footer of the table ${what}; without it no row can be read` }
}
