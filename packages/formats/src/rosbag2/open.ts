import { type FileHandle, open } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { cleanText } from '../bytes.ts'
import type { Note } from '../notes.ts'
import { MAX_TOPIC_CHARACTERS, type ScanOptions } from '../recording.ts'
import type { Bag } from './bag.ts'
import { openDamaged } from './damaged.ts'
import { type Header, isSqlite, readHeader } from './header.ts'
import { readSchema } from './schema.ts'
import { openSound } from './sound.ts'

/** `note`: what is wrong with the file, once it is known how many messages could be read of it all the same. */
export type Opened = { bag: Bag | undefined; note: ((messages: number) => Note) | undefined }

type Checked = { sound: Bag } | { other: Note } | { readPages: string | false }

const MAX_TABLES_NAMED = 8
const MAX_FAULTS_ASKED = 4
const MAX_FAULT_CHARACTERS = 300
const HEAD_BYTES = 16

/** Opens our copy of a bag: by SQLite where it is sound, page by page where it is not. */
export async function openBag(path: string, options: ScanOptions): Promise<Opened> {
  const file = await open(path, 'r')
  let isKept = false
  const readPages = (header: Header, note: Opened['note']): Opened => {
    isKept = true
    return { bag: openDamaged(file, header, options), note }
  }
  try {
    const header = await readHeader(file)
    if (!header) return refused(await noDatabase(file))
    const cut = cutOf(header)
    if (cut) return readPages(header, cut)
    const checked = check(path, header, options)
    if ('readPages' in checked) return readPages(header, damageOf(checked.readPages))
    return 'sound' in checked ? { bag: checked.sound, note: undefined } : refused(checked.other)
  } finally {
    if (!isKept) await file.close()
  }
}

function refused(note: Note): Opened {
  return { bag: undefined, note: () => note }
}

async function noDatabase(file: FileHandle): Promise<Note> {
  const { size } = await file.stat()
  const { buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  const begin = cleanText(buffer.subarray(0, size), HEAD_BYTES)
  const detail = () => `no SQLite database is found in ${size} bytes, which begin with '${begin}'`
  const isCut = size < HEAD_BYTES || isSqlite(buffer)
  return { code: isCut ? 'recording_truncated' : 'messages_undecodable', kind: 'magic', detail }
}

function cutOf({ pages = 0, pageBytes, sizeBytes }: Header): Opened['note'] {
  if (pages * pageBytes <= sizeBytes) return undefined
  return (messages) => {
    const detail = () =>
      `the database says that it has ${pages} pages of ${pageBytes} bytes, and the file ends at byte ${sizeBytes}; ` +
      `${messages} messages are read from the pages that are there`
    return { code: 'recording_truncated', kind: 'pages', detail }
  }
}

/** `false`: nothing is wrong with it, but SQLite should not be asked. */
function damageOf(problem: string | false): Opened['note'] {
  if (problem === false) return undefined
  return (messages) => {
    const detail = () =>
      `the database is damaged: ${problem}; its pages are read one by one, which gives ${messages} messages`
    return { code: 'chunk_corrupt', kind: 'pages', detail }
  }
}

function check(path: string, header: Header, { full }: ScanOptions): Checked {
  if (header.tables === 'broken') return { readPages: 'the list of its tables cannot be read' }
  // Before its pages are checked, SQLite could be led in circles by a tree.
  if (header.tables === 'tree') return { readPages: false }
  try {
    return checkBySqlite(path, header, full)
  } catch (error) {
    if (isFileFault(error)) return { readPages: error.message }
    throw error
  }
}

function checkBySqlite(path: string, header: Header, full: boolean): Checked {
  // Immutable: SQLite makes no files beside it, and asks for none.
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  const db = new DatabaseSync(url, { readOnly: true })
  let sound: Bag | undefined
  try {
    const schema = readSchema(db)
    if (schema.kind === 'other') return { other: noBag(schema.tables, header) }
    if (schema.kind === 'almost') return { readPages: 'its tables are not quite those of a bag' }
    if (schema.kind === 'active') return { readPages: false }
    const faults = faultsOf(db, full)
    if (faults !== undefined) return { readPages: faults }
    sound = openSound(db, header.sizeBytes, schema)
    return { sound }
  } finally {
    if (!sound) db.close()
  }
}

function noBag(tables: string[], { isWal }: Header): Note {
  const names = tables
    .slice(0, MAX_TABLES_NAMED)
    .map((name) => cleanText(Buffer.from(name), MAX_TOPIC_CHARACTERS))
  const beside = isWal ? '; its recorder wrote ahead, into a -wal file beside it that is not here' : ''
  const detail = () =>
    tables.length === 0
      ? `the database has no tables${beside}`
      : `the database has not the tables of a bag (messages, topics) but ${names.join(', ')}`
  return { code: tables.length === 0 ? 'recording_empty' : 'messages_undecodable', kind: 'tables', detail }
}

/** Counts come from indexes, which hide what is broken below; so every page is looked at. */
function faultsOf(db: DatabaseSync, full: boolean): string | undefined {
  const pragma = db.prepare(`pragma ${full ? 'integrity_check' : 'quick_check'}(${MAX_FAULTS_ASKED})`)
  const faults = pragma.all().flatMap((row) => Object.values(row).map(String))
  if (faults.join() === 'ok') return undefined
  const named = faults.join('\n').replace('*** in database main ***\n', '').replaceAll('\n', ', ')
  return cleanText(Buffer.from(named), MAX_FAULT_CHARACTERS)
}

/** SQLITE_ERROR, _CORRUPT, _TOOBIG, _MISMATCH, _NOTADB: what SQLite says of a bad file. */
const FILE_FAULTS = new Set([1, 11, 18, 20, 26])

export function isFileFault(error: unknown): error is Error {
  return error instanceof Error && 'errcode' in error && FILE_FAULTS.has(Number(error.errcode) & 0xff)
}
