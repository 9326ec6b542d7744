import type { Blocks } from './blocks.ts'
import {
  CHUNK_HEADER_MAX_BYTES,
  LAST_OPCODE,
  lengthAt,
  MESSAGE_FIXED_BYTES,
  opcode,
  parseChunkHeader,
  RECORD_HEADER_BYTES,
  viewOf,
} from './records.ts'
import type { Scan } from './scan.ts'

// Behind a wrong length nothing says where the next record begins. So it is looked for: a place from which several
// records in a row make sense, or one chunk, whose two lengths must agree.

const LOOK_BYTES = 256 * 2 ** 10
/** The last bytes of a look are looked at again with those behind them. */
const OVERLAP_BYTES = 256
const RECORDS_IN_A_ROW = 3

type Range = {
  from: number
  to: number
  /** Up to here the bytes of a corrupt chunk lie, whose own records are not to be taken for good ones. */
  onlyChunksTo: number
}

/** The first place in a range where records go on. */
export async function findRecords(scan: Scan, blocks: Blocks, range: Range): Promise<number | undefined> {
  const { from, to } = range
  for (let at = from; at < to; ) {
    scan.signal.throwIfAborted()
    const bytes = await blocks.at(at, Math.min(LOOK_BYTES, to - at))
    const found = search(scan, bytes, at, range)
    if (found !== undefined) return found
    if (at + bytes.length >= to) return undefined
    at += Math.max(1, bytes.length - OVERLAP_BYTES)
  }
  return undefined
}

function search(scan: Scan, bytes: Uint8Array, base: number, range: Range): number | undefined {
  const view = viewOf(bytes)
  for (let at = 0; at + RECORD_HEADER_BYTES <= bytes.length; at++) {
    const kind = bytes[at] ?? 0
    // No record is longer than 2^40: the three highest bytes of its length are zero. This ends most looks at once.
    if (kind === 0 || kind > LAST_OPCODE || bytes[at + 8] !== 0 || bytes[at + 7] !== 0) continue
    if (bytes[at + 6] !== 0 || (kind !== opcode.chunk && base + at < range.onlyChunksTo)) continue
    if (isRow(scan, bytes, view, at, base, range.to)) return base + at
  }
  return undefined
}

function isRow(
  scan: Scan,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  base: number,
  to: number,
): boolean {
  let at = start
  for (let records = 0; records < RECORDS_IN_A_ROW; records++) {
    if (base + at === to) return records > 0
    if (at + RECORD_HEADER_BYTES > bytes.length) return records === RECORDS_IN_A_ROW - 1
    const end = at + RECORD_HEADER_BYTES + lengthAt(view, at + 1)
    if (base + end > to) return false
    const body = bytes.subarray(at + RECORD_HEADER_BYTES, Math.min(end, bytes.length))
    const sense = makesSense(scan, bytes[at] ?? 0, body, end - at - RECORD_HEADER_BYTES)
    if (sense !== 'perhaps') return sense === 'surely'
    at = end
  }
  return true
}

type Sense = 'no' | 'perhaps' | 'surely'

/** Of a record that claims to have `length` bytes, of which `body` is at hand. */
function makesSense(scan: Scan, kind: number, body: Uint8Array, length: number): Sense {
  const whole = body.length === length
  const perhaps = (sound: boolean): Sense => (sound ? 'perhaps' : 'no')
  switch (kind) {
    case opcode.chunk:
      return isChunk(body, length) ? 'surely' : 'no'
    case opcode.message:
      return perhaps(length >= MESSAGE_FIXED_BYTES && isMessage(scan, body))
    case opcode.schema:
      return perhaps(whole && threeFieldsFit(body, 2))
    case opcode.channel:
      return perhaps(whole && threeFieldsFit(body, 4))
    case opcode.messageIndex:
      return perhaps(body.length >= 6 && viewOf(body).getUint32(2, true) + 6 === length)
    case opcode.footer:
      return perhaps(length === 20)
    case opcode.dataEnd:
      return perhaps(length === 4)
    default:
      return perhaps(length >= 8)
  }
}

/** Name, encoding and definition of a schema; topic, encoding and metadata of a channel. Looked at without reading them. */
function threeFieldsFit(body: Uint8Array, from: number): boolean {
  const view = viewOf(body)
  let at = from
  for (let field = 0; field < 3; field++) {
    if (at + 4 > body.length) return false
    at += 4 + view.getUint32(at, true)
  }
  return at <= body.length
}

function isChunk(body: Uint8Array, length: number): boolean {
  const header = parseChunkHeader(body.subarray(0, CHUNK_HEADER_MAX_BYTES))
  return (
    header !== undefined &&
    header.recordsAt + header.recordsBytes === length &&
    header.startNs <= header.endNs
  )
}

/** Of a channel that is known, and not years away from the others. */
function isMessage({ definitions, teller }: Scan, body: Uint8Array): boolean {
  if (body.length < MESSAGE_FIXED_BYTES) return false
  const view = viewOf(body)
  const originNs = teller.originNs()
  if (!definitions.findChannel(view.getUint16(0, true))) return false
  return originNs === undefined || Number.isSafeInteger(Number(view.getBigUint64(6, true) - originNs))
}
