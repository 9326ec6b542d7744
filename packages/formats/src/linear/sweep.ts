import type { ScanOptions, Source, Visitor } from '../recording.ts'

const BLOCK_BYTES = 1 << 20
/** No record, line or element that a reader waits for may be longer. */
const MAX_REST_BYTES = 8 << 20

/** What has been read and not yet eaten. `last`: nothing comes behind it. */
export type Block = { bytes: Uint8Array; view: DataView; offset: number; last: boolean }

/**
 * Goes over a range of the file once, front to back. `eat` says how many bytes of the block it is done with; the rest
 * comes again with more behind it. What it leaves of the last block is dropped.
 */
export async function sweep(
  source: Source,
  range: { from: number; to: number },
  visitor: Visitor,
  { signal }: ScanOptions,
  eat: (block: Block) => number,
): Promise<void> {
  let rest: Uint8Array = new Uint8Array()
  for (let read = range.from; read < range.to; ) {
    signal.throwIfAborted()
    const fresh = await source.read(read, Math.min(BLOCK_BYTES, range.to - read))
    const bytes = rest.length === 0 ? fresh : joined(rest, fresh)
    const offset = read - rest.length
    read += fresh.length
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    rest = bytes.subarray(eat({ bytes, view, offset, last: read >= range.to }))
    if (rest.length > MAX_REST_BYTES) throw new Error(`${rest.length} bytes at ${offset} were not eaten`)
    visitor.progress(read / source.size())
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}
