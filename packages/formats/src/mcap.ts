import { openLz4 } from './lz4.ts'
import { openDefinitions } from './mcap/definitions.ts'
import { withEnds } from './mcap/ends.ts'
import { findTrouble } from './mcap/index-check.ts'
import { scanIndexed } from './mcap/index-scan.ts'
import { type LinearEnd, scanLinear } from './mcap/linear-scan.ts'
import { checkMagic, magicBytes } from './mcap/magic.ts'
import { FOOTER_BYTES, MAGIC, type Statistics } from './mcap/records.ts'
import type { Scan } from './mcap/scan.ts'
import { type Ending, readEnding, type Summary, type Trouble } from './mcap/summary.ts'
import { openTeller } from './mcap/teller.ts'
import { openNotes } from './notes.ts'
import type { Reader } from './recording.ts'

// The summary at the end of the file is read first. If it is sound, messages come from the indexes behind the chunks;
// what the index does not answer, and a file without one, is read record by record.

export const mcap: Reader = {
  format: 'mcap',
  recognises: (head) => magicBytes(head) > 0,
  async scan(source, visitor, { signal, full, contents = true }) {
    const notes = openNotes()
    const definitions = openDefinitions(notes)
    const teller = openTeller(visitor, definitions, notes)
    const near = await withEnds(source)
    const recordsAt = checkMagic(await near.read(0, Math.min(MAGIC.length, near.size())), notes)
    const ending = await readEnding(near, definitions, notes)
    const scan: Scan = {
      source: near,
      definitions,
      teller,
      notes,
      lz4: openLz4(),
      signal,
      full,
      contents,
      verifyData: full && (ending.kind !== 'indexed' || ending.summary.dataCrc !== 0),
      progress: (at) => visitor.progress(at / near.size()),
    }
    if (ending.kind === 'indexed') await scanBySummary(scan, ending.summary, recordsAt)
    else await scanWithoutSummary(scan, ending, recordsAt)
    noteEmpty(scan)
    teller.introduceRest()
    notes.tell(visitor, teller.originNs())
    visitor.progress(1)
    return { kind: 'unix' }
  },
}

async function scanBySummary(scan: Scan, summary: Summary, recordsAt: number): Promise<void> {
  const trouble = findTrouble(summary, recordsAt)
  const originNs = expectedOrigin(summary)
  if (originNs !== undefined) scan.teller.expectOrigin(originNs)
  const begin = { at: recordsAt, source: scan.source }
  const left = trouble || scan.full ? begin : await scanIndexed(scan, summary, recordsAt)
  const known = trouble ? {} : { nextChunkAt: (at: number) => nextChunkAt(summary, at) }
  await scanLinear({ ...scan, source: left.source }, { from: left.at, to: summary.at, ...known })
  if (trouble) noteTrouble(scan, trouble)
  if (summary.statistics) compareStatistics(scan, summary.statistics)
}

/** The first time of all; where that is a stray one, far from all others, some time in the middle. */
function expectedOrigin({ statistics, chunkCount, chunkIndex }: Summary): bigint | undefined {
  const startNs = statistics && statistics.messageCount > 0 ? statistics.startNs : undefined
  const times: bigint[] = []
  for (let n = 0; n < chunkCount; n++) times.push(chunkIndex(n)?.startNs ?? 0n)
  const firstNs = startNs ?? times[0]
  const middleNs = times.sort((a, b) => (a < b ? -1 : 1))[Math.floor(chunkCount / 2)]
  if (firstNs === undefined || middleNs === undefined) return startNs
  return Number.isSafeInteger(Number(middleNs - firstNs)) ? startNs : middleNs
}

function nextChunkAt({ chunkCount, chunkIndex }: Summary, at: number): number | undefined {
  let low = 0
  let high = chunkCount
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((chunkIndex(middle)?.chunkAt ?? 0) < at) low = middle + 1
    else high = middle
  }
  return chunkIndex(low)?.chunkAt
}

/** A file without messages needs no index, and chunks without one were noted already. */
function noteTrouble({ teller, notes }: Scan, { code, detail }: Trouble): void {
  if (code === 'index_missing' && (teller.met() === 0 || notes.count(code) > 0)) return
  notes.add({ code, kind: 'summary', detail: () => `${detail}; the whole file was read instead` })
}

/** Where damage was found, it explains the difference. */
function compareStatistics({ teller, notes }: Scan, { messageCount, counts }: Statistics): void {
  if (notes.count('chunk_corrupt') + notes.count('messages_undecodable') > 0) return
  const met = teller.met()
  const channel = counts.entries().find(([id, count]) => teller.metOf(id) !== count)
  if (met === messageCount && !channel) return
  const detail = () => {
    const where = channel
      ? ` (${channel[1]} and ${teller.metOf(channel[0])} of channel id ${channel[0]})`
      : ''
    return `the statistics count ${messageCount} messages where ${met} were found${where}`
  }
  notes.add({ code: 'index_mismatch', kind: 'statistics', detail })
}

async function scanWithoutSummary(
  scan: Scan,
  ending: Exclude<Ending, { kind: 'indexed' }>,
  recordsAt: number,
): Promise<void> {
  const size = scan.source.size()
  if (ending.kind === 'unindexed') {
    await scanLinear(scan, { from: recordsAt, to: size - MAGIC.length - FOOTER_BYTES })
    return noteTrouble(scan, ending.trouble)
  }
  const { footerAt, rest } = await scanLinear(scan, { from: recordsAt, to: size, openEnd: true })
  const head = await scan.source.read(0, Math.min(MAGIC.length, size))
  const foreign = head.length === MAGIC.length && magicBytes(head) === 0 && scan.teller.met() === 0
  if (foreign) return
  if (footerAt === undefined) return noteCut(scan, rest)
  const detail = `the footer stands at byte ${footerAt} where byte ${size - MAGIC.length - FOOTER_BYTES} is expected`
  noteTrouble(scan, { code: 'index_mismatch', detail })
}

function noteCut({ source, teller, notes }: Scan, rest: LinearEnd['rest']): void {
  const met = teller.met()
  const where = rest ? `at byte ${rest.at} stands ${rest.why}` : 'the last record is whole'
  const detail = () =>
    `the file ends at byte ${source.size()} without a footer: ${where}; ${met} messages were read before it, and ` +
    'those that should follow are lost, with the index'
  notes.add({ code: 'recording_truncated', kind: 'cut', detail })
}

function noteEmpty({ source, teller, notes }: Scan): void {
  const damage = ['recording_truncated', 'chunk_corrupt', 'messages_undecodable'] as const
  if (teller.met() > 0 || damage.some((code) => notes.count(code) > 0)) return
  const detail = () => `the file of ${source.size()} bytes is whole and holds no message`
  notes.add({ code: 'recording_empty', kind: 'empty', detail })
}
