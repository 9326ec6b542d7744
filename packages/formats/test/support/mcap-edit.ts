import assert from 'node:assert/strict'

// Changes to single records of an MCAP file, with its framing kept.

const HEADER_BYTES = 9
const MAGIC_BYTES = 8
const CHUNK_HEADER_BYTES = HEADER_BYTES + 40

export const opcodes = { channel: 4, message: 5, chunk: 6, messageIndex: 7, chunkIndex: 8, statistics: 11 }

export type Placed = { opcode: number; at: number; end: number }

export function recordsOf(bytes: Uint8Array): Placed[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const records: Placed[] = []
  for (let at = MAGIC_BYTES; at < bytes.length - MAGIC_BYTES; ) {
    const end = at + HEADER_BYTES + Number(view.getBigUint64(at + 1, true))
    records.push({ opcode: view.getUint8(at), at, end })
    at = end
  }
  return records
}

/** The file with the n-th record of a kind changed; the summary's CRC is switched off, so that it does not tell. */
export function changeRecord(
  bytes: Uint8Array,
  opcode: number,
  n: number,
  change: (body: DataView) => void,
): Uint8Array {
  const changed = Uint8Array.from(bytes)
  const record = recordsOf(bytes).filter((record) => record.opcode === opcode)[n]
  assert.ok(record, `there is no record ${n} of opcode ${opcode}`)
  change(new DataView(changed.buffer, record.at + HEADER_BYTES, record.end - record.at - HEADER_BYTES))
  changed.fill(0, bytes.length - MAGIC_BYTES - 4, bytes.length - MAGIC_BYTES)
  return changed
}

/** The file with one byte in the middle of the n-th chunk's content turned. */
export function corruptChunk(bytes: Uint8Array, n: number): Uint8Array {
  const changed = Uint8Array.from(bytes)
  const chunk = recordsOf(bytes).filter(({ opcode }) => opcode === opcodes.chunk)[n]
  assert.ok(chunk, `there is no chunk ${n}`)
  const at = Math.floor((chunk.at + CHUNK_HEADER_BYTES + chunk.end) / 2)
  changed[at] = (changed[at] ?? 0) ^ 0xff
  return changed
}
