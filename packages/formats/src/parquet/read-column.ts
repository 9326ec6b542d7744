import type { ColumnChunk, ColumnMetaData, PageHeader } from 'hyparquet'
import type { Source } from '../recording.ts'
import type { Column } from './columns.ts'
import { PageDamage } from './damage.ts'
import { type Damaged, levelsLength, noteDamage, type Page, pagesOf, unpackPage } from './pages.ts'
import { decodeValues, type Numbers, plain, type Values } from './values.ts'

/** Consecutive rows; without values where their page is damaged. */
export type Slice = { count: number; values: Values | undefined }

/** One page holds a million values where it is large. */
const MAX_PAGE_VALUES = 4 << 20

type From = { source: Source; footerAt: number; damaged: Damaged }

/** A plain numeric column of a row group, page by page; less than its rows where pages are missing. */
export async function* readColumn(
  { source, footerAt, damaged }: From,
  chunk: ColumnChunk | undefined,
  { element }: Column,
  rows: number,
): AsyncGenerator<Slice> {
  const meta = chunk?.meta_data
  const nullable = element.repetition_type !== 'REQUIRED'
  let dictionary: Numbers | undefined
  let left = rows
  for await (const page of pagesOf(source, chunk, footerAt, damaged)) {
    if (left === 0 || !meta) return
    if (page.header.type === 'DICTIONARY_PAGE') {
      dictionary = page.intact ? await attempt(damaged, page, () => readDictionary(page, meta)) : undefined
      continue
    }
    const count = valuesIn(page.header)
    if (count === undefined) continue
    if (!isCount(count) || count > left) {
      noteDamage(damaged, page.at, new PageDamage(`${count} rows, where the group has ${left} left`))
      return
    }
    left -= count
    const read = () => readValues(page, meta, nullable, dictionary)
    yield { count, values: page.intact ? await attempt(damaged, page, read) : undefined }
  }
}

async function attempt<T>(damaged: Damaged, { at }: Page, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    noteDamage(damaged, at, error)
    return undefined
  }
}

async function readDictionary(page: Page, meta: ColumnMetaData): Promise<Numbers> {
  const count = page.header.dictionary_page_header?.num_values
  if (!isCount(count)) throw new PageDamage(`a dictionary of ${count ?? 'unknown'} values`)
  return plain(await unpackPage(page, meta), meta.type, count)
}

/** Undefined for pages that hold no rows. */
function valuesIn({ type, data_page_header, data_page_header_v2 }: PageHeader): number | undefined {
  const head =
    type === 'DATA_PAGE' ? data_page_header : type === 'DATA_PAGE_V2' ? data_page_header_v2 : undefined
  return head?.num_values
}

function isCount(count: number | undefined): count is number {
  return Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MAX_PAGE_VALUES
}

async function readValues(
  page: Page,
  meta: ColumnMetaData,
  nullable: boolean,
  dictionary: Numbers | undefined,
): Promise<Values> {
  const { header } = page
  const second = header.type === 'DATA_PAGE_V2'
  const head = second ? header.data_page_header_v2 : header.data_page_header
  if (!head) throw new PageDamage('no description of its values')
  const body = await unpackPage(page, meta)
  const levels = second ? page.body.subarray(0, levelsLength(header)) : body
  const shape = {
    type: meta.type,
    encoding: head.encoding,
    count: head.num_values,
    levels: nullable && levels.length > 0 ? { bytes: levels, withLength: !second } : undefined,
  }
  return decodeValues(body, shape, dictionary)
}
