import { type Metadata, Module } from 'h5wasm/node'
import type { Numbers } from './library.ts'

// Bytes out of the memory of the library. Its own JavaScript face does not look at whether a read succeeded, and hands
// out whatever lay in that memory before: here a read that fails is an error.

/** Rows of a dataset, all of their items. */
export function rawRows(
  fileId: bigint,
  path: string,
  metadata: Metadata,
  from: number,
  to: number,
): Uint8Array {
  const [, ...rest] = metadata.shape ?? []
  const count = [to - from, ...rest].map(BigInt)
  const offset = [from, ...rest.map(() => 0)].map(BigInt)
  const strides = count.map(() => 1n)
  const bytes = Number(count.reduce((product, length) => product * length, BigInt(metadata.size)))
  return withMemory(bytes, (pointer) => {
    const status = Module.get_dataset_data(fileId, path, count, offset, strides, BigInt(pointer))
    if (status < 0) throw new Error('rows that cannot be read')
    const content = Module.HEAPU8.slice(pointer, pointer + bytes)
    if (isVlen(metadata)) Module.reclaim_vlen_memory_count(fileId, path, '', BigInt(pointer), count)
    return content
  })
}

function isVlen({ vlen, type }: Metadata): boolean {
  return vlen || type === Module.H5T_class_t.H5T_VLEN.value
}

/** The bytes of an attribute; of a text of any length, those of the text. */
export function rawAttribute(fileId: bigint, path: string, name: string, metadata: Metadata): Uint8Array {
  const bytes = metadata.size * metadata.total_size
  return withMemory(bytes, (pointer) => {
    const status = Module.get_attribute_data(fileId, path, name, BigInt(pointer))
    if (status < 0) throw new Error('an attribute that cannot be read')
    const content = Module.HEAPU8.slice(pointer, pointer + bytes)
    if (!isVlen(metadata)) return content
    const first = bytes >= 4 ? new DataView(content.buffer).getUint32(0, true) : 0
    const text = first === 0 ? '' : Module.UTF8ToString(first)
    Module.reclaim_vlen_memory(fileId, path, name, BigInt(pointer))
    return new TextEncoder().encode(text)
  })
}

function withMemory(bytes: number, use: (pointer: number) => Uint8Array): Uint8Array {
  const pointer = Module._malloc(Math.max(1, bytes))
  if (pointer === 0) throw new Error(`no memory for ${bytes} bytes`)
  try {
    Module.HEAPU8.fill(0, pointer, pointer + bytes)
    return use(pointer)
  } finally {
    Module._free(pointer)
  }
}

/** Undefined for what is no number. The library has turned all of them into little-endian ones. */
export function toNumbers({ buffer }: Uint8Array, type: string): Numbers | undefined {
  switch (type) {
    case 'float64':
      return new Float64Array(buffer)
    case 'float32':
      return Float64Array.from(new Float32Array(buffer))
    case 'int64':
    case 'uint64':
      return new BigInt64Array(buffer)
    case 'int32':
      return Float64Array.from(new Int32Array(buffer))
    case 'uint32':
      return Float64Array.from(new Uint32Array(buffer))
    case 'int16':
      return Float64Array.from(new Int16Array(buffer))
    case 'uint16':
      return Float64Array.from(new Uint16Array(buffer))
    case 'int8':
      return Float64Array.from(new Int8Array(buffer))
    case 'uint8':
      return Float64Array.from(new Uint8Array(buffer))
    default:
      return undefined
  }
}
