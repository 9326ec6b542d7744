import type { FileHandle } from 'node:fs/promises'

/** From the first 100 bytes of a SQLite file. */
export type Header = {
  sizeBytes: number
  pageBytes: number
  /** Of a page: what is not reserved at its end. */
  usableBytes: number
  /** As many as the database says it has; undefined where the writer does not keep the number. */
  pages: number | undefined
  /** Whether the recorder wrote ahead: then its last messages may lie in a file beside this one. */
  isWal: boolean
  /** The list of tables is one page in every bag of the recorder, and a tree where pages are small. */
  tables: 'page' | 'tree' | 'broken'
}

const MAGIC = Buffer.from('SQLite format 3\0', 'latin1')
export const HEADER_BYTES = 100
/** Fixed by the format: how much of a page one row may take. Where a database lost its first bytes, these tell it. */
const FRACTIONS = Buffer.of(64, 32, 32)
const FRACTIONS_AT = 21
const USUAL_PAGE_BYTES = 4096
export const TABLE_LEAF = 0x0d
const TABLE_TREE = 0x05

export function isSqlite(head: Uint8Array): boolean {
  return MAGIC.equals(head.subarray(0, MAGIC.length))
}

/** Undefined where the file is no SQLite database. */
export async function readHeader(file: FileHandle): Promise<Header | undefined> {
  const { size: sizeBytes } = await file.stat()
  const bytes = Buffer.alloc(HEADER_BYTES + 1)
  await file.read(bytes, 0, bytes.length, 0)
  const hasFractions = FRACTIONS.equals(bytes.subarray(FRACTIONS_AT, FRACTIONS_AT + FRACTIONS.length))
  if (sizeBytes <= HEADER_BYTES || !(isSqlite(bytes) || hasFractions)) return undefined
  const pageBytes = pageBytesOf(bytes.readUInt16BE(16))
  const isKept = bytes.readUInt32BE(24) === bytes.readUInt32BE(92)
  return {
    sizeBytes,
    pageBytes,
    usableBytes: usableOf(pageBytes, bytes[20] ?? 0),
    pages: isKept ? bytes.readUInt32BE(28) : undefined,
    isWal: bytes[18] === 2,
    tables: tablesOf(bytes[HEADER_BYTES]),
  }
}

function pageBytesOf(said: number): number {
  if (said === 1) return 65_536
  return said >= 512 && (said & (said - 1)) === 0 ? said : USUAL_PAGE_BYTES
}

/** No database reserves so much of its pages that less than this is left. */
const LEAST_USABLE_BYTES = 480

function usableOf(pageBytes: number, reservedBytes: number): number {
  return pageBytes - reservedBytes >= LEAST_USABLE_BYTES ? pageBytes - reservedBytes : pageBytes
}

function tablesOf(kind: number | undefined): Header['tables'] {
  if (kind === TABLE_LEAF) return 'page'
  return kind === TABLE_TREE ? 'tree' : 'broken'
}
