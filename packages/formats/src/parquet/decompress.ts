import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type CompressionCodec, snappyUncompress } from 'hyparquet'
import { PageDamage } from './damage.ts'

/** Exactly `length` bytes, or damage. What Node has is used first: it bounds what comes out. */
export async function decompress(
  bytes: Uint8Array,
  codec: CompressionCodec,
  length: number,
): Promise<Uint8Array> {
  if (codec === 'UNCOMPRESSED') return expectLength(bytes, length)
  if (length === 0) return new Uint8Array()
  try {
    return expectLength(await decompressAs(bytes, codec, length), length)
  } catch (error) {
    throw error instanceof PageDamage ? error : new PageDamage('data that cannot be decompressed')
  }
}

async function decompressAs(bytes: Uint8Array, codec: CompressionCodec, length: number): Promise<Uint8Array> {
  const bound = { maxOutputLength: length }
  switch (codec) {
    case 'GZIP':
      return gunzipSync(bytes, bound)
    case 'ZSTD':
      return zstdDecompressSync(bytes, bound)
    case 'BROTLI':
      return brotliDecompressSync(bytes, bound)
    case 'SNAPPY': {
      const output = new Uint8Array(length)
      snappyUncompress(bytes, output)
      return output
    }
    default: {
      const { compressors } = await import('hyparquet-compressors')
      const output = compressors[codec]?.(bytes, length)
      if (!output) throw new PageDamage('a compression that is not known')
      return output
    }
  }
}

function expectLength(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw new PageDamage(`${bytes.length} bytes where its header says ${length}`)
  return bytes
}
