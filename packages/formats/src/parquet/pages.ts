import { crc32 } from 'node:zlib'
import type { ColumnChunk, ColumnMetaData, PageHeader } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { openWindow, type Window } from '../bytes.ts'
import { note, openTally, type Tally } from '../linear/tally.ts'
import type { Source } from '../recording.ts'
import { PageDamage } from './damage.ts'
import { decompress } from './decompress.ts'
import { isSoundStruct } from './thrift.ts'

// A column of a row group is a chain of pages, each behind its header. They are read one at a time: a row group may be
// as large as the file.

export type Page = {
  header: PageHeader
  body: Uint8Array
  at: number
  /** False where the checksum says otherwise. */
  intact: boolean
}

/** Pages that could not be read, and what was wrong with the first. */
export type Damaged = { pages: Tally; reason: string }

const WINDOW_BYTES = 1 << 18
const MAX_PAGE_BYTES = 64 << 20
/** Statistics of long texts make headers long. */
const HEADER_BYTES = [1 << 10, 1 << 16, 1 << 20]

export function openDamaged(): Damaged {
  return { pages: openTally(), reason: '' }
}

export function noteDamage(damaged: Damaged, at: number, error: unknown) {
  if (!(error instanceof PageDamage)) throw error
  if (damaged.pages.count === 0) damaged.reason = error.message
  note(damaged.pages, at)
}

/** `footerAt` bounds all pages. What follows a broken header cannot be found. */
export async function* pagesOf(
  source: Source,
  chunk: ColumnChunk | undefined,
  footerAt: number,
  damaged: Damaged,
): AsyncGenerator<Page> {
  let at = 0
  try {
    const { start, end } = rangeOf(chunk, footerAt)
    const window = openWindow({ size: () => end, read: source.read }, WINDOW_BYTES)
    for (at = start; at < end; ) {
      const { header, bodyAt } = await readHeader(window, at, end)
      const bytes = header.compressed_page_size
      const body = await window.at(bodyAt, bytes)
      const intact = header.crc === undefined || crc32(body) === header.crc >>> 0
      if (!intact) noteDamage(damaged, at, new PageDamage('a wrong checksum'))
      yield { header, body, at, intact }
      at = bodyAt + bytes
    }
  } catch (error) {
    noteDamage(damaged, at, error)
  }
}

function rangeOf(chunk: ColumnChunk | undefined, footerAt: number): { start: number; end: number } {
  const meta = chunk?.meta_data
  if (!meta) throw new PageDamage('no description of the column, or an encrypted one')
  if (chunk.file_path) throw new PageDamage(`a column that lies in another file`)
  const data = Number(meta.data_page_offset ?? -1)
  const dictionary = Number(meta.dictionary_page_offset ?? 0)
  const start = dictionary > 0 && dictionary < data ? dictionary : data
  const end = start + Number(meta.total_compressed_size ?? -1)
  if (!(start >= 4) || !(end > start) || end > footerAt) {
    throw new PageDamage(`a column from byte ${start} to ${end}, in ${footerAt} bytes of data`)
  }
  return { start, end }
}

async function readHeader(
  window: Window,
  at: number,
  end: number,
): Promise<{ header: PageHeader; bodyAt: number }> {
  for (const length of HEADER_BYTES) {
    const bytes = await window.at(at, Math.min(length, end - at))
    if (!isSoundStruct(bytes)) {
      if (bytes.length < length) break
      continue
    }
    const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 }
    const header = parquetHeader(reader)
    const sizes = [header.compressed_page_size, header.uncompressed_page_size]
    const room = end - at - reader.offset
    if (
      !sizes.every((size) => Number.isInteger(size) && size >= 0 && size <= MAX_PAGE_BYTES) ||
      (sizes[0] ?? 0) > room
    ) {
      throw new PageDamage(`a page of ${sizes.join(' bytes, uncompressed ')}, with ${room} left`)
    }
    return { header, bodyAt: at + reader.offset }
  }
  throw new PageDamage('no header of a page')
}

/** The page as it was before compression: levels, if it has any in front, and values. */
export async function unpackPage({ header, body }: Page, meta: ColumnMetaData): Promise<Uint8Array> {
  const v2 = header.data_page_header_v2
  if (header.type !== 'DATA_PAGE_V2' || !v2)
    return decompress(body, meta.codec, header.uncompressed_page_size)
  const levelBytes = levelsLength(header)
  const values = body.subarray(levelBytes)
  if (v2.is_compressed === false) return values
  return decompress(values, meta.codec, header.uncompressed_page_size - levelBytes)
}

/** In pages of the second version the levels stand uncompressed before the values. */
export function levelsLength({
  data_page_header_v2: v2,
  compressed_page_size,
  uncompressed_page_size,
}: PageHeader): number {
  const length = (v2?.repetition_levels_byte_length ?? 0) + (v2?.definition_levels_byte_length ?? 0)
  if (!(length >= 0) || length > Math.min(compressed_page_size, uncompressed_page_size)) {
    throw new PageDamage(`levels of ${length} bytes in a page of ${compressed_page_size}`)
  }
  return length
}
