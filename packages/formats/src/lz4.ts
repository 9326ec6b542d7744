import { createRequire } from 'node:module'

// LZ4 frames by WebAssembly. The package's own face keeps one context for the whole process, and after one bad frame
// that context refuses every good one too. So the module is held here, one for each scan, and a fresh one is taken
// after a failure.

export type Lz4 = {
  /** The content of a frame, at most `maxBytes` of it; undefined for a bad frame. */
  decompress(frame: Uint8Array, maxBytes: number): Promise<Uint8Array | undefined>
  /** What can be read of a frame whose end is missing. */
  salvage(frame: Uint8Array, maxBytes: number): Promise<Uint8Array>
}

type Module = {
  HEAPU8: Uint8Array
  _malloc(bytes: number): number
  _free(pointer: number): void
  _createDecompressionContext(): number
  _decompressFrame(context: number, to: number, toBytes: number, from: number, fromBytes: number): number
}
type Loaded = { module: Module; context: number }

/** WebAssembly memory never shrinks: a module that grew past this is not kept. */
const MAX_KEPT_BYTES = 64 * 2 ** 20

export function openLz4(): Lz4 {
  let loaded: Loaded | undefined
  const run = async (
    frame: Uint8Array,
    maxBytes: number,
    whole: boolean,
  ): Promise<Uint8Array | undefined> => {
    const { module, context } = loaded ?? (await load())
    loaded = undefined
    const from = module._malloc(frame.length)
    const to = module._malloc(Math.max(1, maxBytes))
    if (from === 0 || to === 0) return undefined
    module.HEAPU8.set(frame, from)
    if (!whole) module.HEAPU8.fill(0, to, to + maxBytes)
    const length = module._decompressFrame(context, to, maxBytes, from, frame.length)
    if (length < 0) return whole ? undefined : withoutZeros(module.HEAPU8.slice(to, to + maxBytes))
    const content = module.HEAPU8.slice(to, to + length)
    module._free(from)
    module._free(to)
    if (module.HEAPU8.length <= MAX_KEPT_BYTES) loaded = { module, context }
    return content
  }
  return {
    decompress: (frame, maxBytes) => run(frame, maxBytes, true),
    salvage: async (frame, maxBytes) => (await run(frame, maxBytes, false)) ?? new Uint8Array(),
  }
}

async function load(): Promise<Loaded> {
  const factory: () => Promise<Module> = createRequire(import.meta.url)('@foxglove/wasm-lz4/dist/wasm-lz4.js')
  const module = await factory()
  return { module, context: module._createDecompressionContext() }
}

/** The module does not say how far it came: what it did not reach is still zero. */
function withoutZeros(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1)
}
