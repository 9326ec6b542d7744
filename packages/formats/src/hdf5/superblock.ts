import type { Finding, Source } from '../recording.ts'

// The first block of an HDF5 file says where the file ends. The library opens no file that is shorter than that.

const SIGNATURE = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a]
/** Users may put a block of their own before it; the format allows all powers of two from 512 on. */
export const SIGNATURE_OFFSETS = [0, 512, 1024, 2048]
const HEAD_BYTES = 4096
const OPEN_FOR_WRITING = 1

export function signatureAt(head: Uint8Array, offset: number): boolean {
  return SIGNATURE.every((byte, index) => head[offset + index] === byte)
}

/** What is wrong with the file as a whole, if it is. */
export async function readSuperblock(source: Source): Promise<Finding | undefined> {
  const size = source.size()
  if (size === 0) return { code: 'recording_empty', detail: 'the file has no bytes' }
  const head = await source.read(0, Math.min(size, HEAD_BYTES))
  const at = SIGNATURE_OFFSETS.find((offset) => signatureAt(head, offset))
  if (at === undefined) {
    const detail = `no signature of HDF5 is at the beginning of these ${size} bytes; nothing in them can be read`
    return { code: 'chunk_corrupt', detail }
  }
  const block = head.subarray(at)
  const version = block[8] ?? 0
  const end = statedEnd(block, version)
  if (end === undefined) {
    const detail = `the first block of the file is cut or damaged (version ${version}); nothing in it can be read`
    return { code: size < at + 48 ? 'recording_truncated' : 'chunk_corrupt', detail }
  }
  if (end > size - at) {
    const detail =
      `the file has ${size} bytes, but says that it ends at byte ${at + end}: ${at + end - size} bytes are missing, ` +
      'and as groups and rows lie anywhere in such a file, nothing of it can be told'
    return { code: 'recording_truncated', detail, value: at + end - size }
  }
  if (version === 3 && ((block[11] ?? 0) & OPEN_FOR_WRITING) !== 0) {
    const detail = 'the file was never closed by its recorder, and says so; what it holds is not settled'
    return { code: 'recording_truncated', detail }
  }
  return undefined
}

/** Addresses are as wide as the block says; the third one is that of the end. */
function statedEnd(block: Uint8Array, version: number): number | undefined {
  const old = version < 2
  const width = block[old ? 13 : 9] ?? 0
  const from = (version === 0 ? 24 : version === 1 ? 28 : 12) + 2 * width
  if (version > 3 || (width !== 4 && width !== 8) || from + width > block.length) return undefined
  const view = new DataView(block.buffer, block.byteOffset)
  return width === 4 ? view.getUint32(from, true) : Number(view.getBigUint64(from, true))
}
