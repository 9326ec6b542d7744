import { parentPort, workerData } from 'node:worker_threads'
import { Attribute, Dataset, File, Group, type Metadata, Module, ready } from 'h5wasm/node'
import type { Answer, Entry, Numbers, Request, Size } from './library.ts'

// The HDF5 library, in a thread of its own: it is C compiled to WebAssembly, and what a hostile file does to it (an
// abort, a loop without end, memory that never shrinks) goes away together with the thread.

const MAX_ENTRIES = 200_000
const MAX_ATTRIBUTES = 1000
const MAX_ATTRIBUTE_BYTES = 1 << 20
const MAX_READ_BYTES = 64 << 20

await ready
const path: string = workerData
guardFiles()
const file = openFile()
parentPort?.on('message', (request: Request) => {
  parentPort?.postMessage({ ...attempt(request), id: request.id })
})
parentPort?.postMessage({ id: 0 })

function attempt(request: Request): Answer {
  try {
    return answer(request)
  } catch (error) {
    // Anything may be thrown from C++, a bare pointer too.
    return { failure: error instanceof Error ? error.message : 'an error without a message' }
  }
}

/**
 * The library has the files of this machine before it. A dataset may say that its bytes lie in another one, and would
 * be believed: only the copy is opened. And nothing is written: not even what the library prints about errors.
 */
function guardFiles() {
  const { FS } = Module
  const open = FS.open
  FS.write = (_stream, _buffer, _offset, length) => length
  FS.open = (name, ...rest) => {
    if (name !== path) throw Object.assign(new Error('no such file'), { name: 'ErrnoError', errno: 2 })
    return open(name, ...rest)
  }
}

function openFile(): File {
  const opened = new File(path, 'r')
  if (opened.file_id < 0n) throw new Error('the library does not open it')
  return opened
}

function answer(request: Request): Answer {
  switch (request.op) {
    case 'list':
      return { entries: list(request.path) }
    case 'entry':
      return { entries: [entry(request.path)] }
    case 'attributes':
      return { attributes: attributes(request.path) }
    case 'attributeBytes':
      return { content: attributeBytes(request.path, request.name) }
    case 'read':
      return { numbers: read(request.path, request.from, request.to) }
    case 'bytes':
      return { sizes: request.paths.map((one) => bytesOf(one, request.maxBytes)) }
    case 'touch':
      // Filters and checksums are applied by reading.
      rowsOf(request.path, request.from, request.to)
      return {}
  }
}

function list(path: string): Entry[] {
  const group = file.get(path)
  if (!(group instanceof Group)) return []
  return group
    .keys()
    .slice(0, MAX_ENTRIES)
    .map((name) => entry(`${path}/${name}`))
}

function entry(path: string): Entry {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const none = { name, shape: [], itemBytes: 0, type: 'other' }
  try {
    // A link into another file is not followed; asked for what it leads to, the library would try.
    if ('filename' in Module.get_external_link(file.file_id, path)) return { ...none, kind: 'other' }
    const found = file.get(path)
    if (found instanceof Group) return { ...none, kind: 'group' }
    if (!(found instanceof Dataset)) return { ...none, kind: 'other' }
    const { shape, size } = found.metadata
    return { name, kind: 'dataset', shape: shape ?? [], itemBytes: size, type: typeName(found.metadata) }
  } catch {
    return { ...none, kind: 'broken' }
  }
}

function typeName({ type, size, signed }: Metadata): string {
  const { H5T_INTEGER, H5T_FLOAT, H5T_STRING } = Module.H5T_class_t
  if (type === H5T_INTEGER.value) return `${signed ? 'int' : 'uint'}${size * 8}`
  if (type === H5T_FLOAT.value) return `float${size * 8}`
  return type === H5T_STRING.value ? 'string' : 'other'
}

/** Texts and numbers, of which only the first is taken. */
function attributes(path: string): [string, string | number][] {
  const found: [string, string | number][] = []
  for (const name of Module.get_attribute_names(file.file_id, path).slice(0, MAX_ATTRIBUTES)) {
    const metadata = Module.get_attribute_metadata(file.file_id, path, name)
    const { size, total_size } = metadata
    if (size * total_size > MAX_ATTRIBUTE_BYTES || typeName(metadata) === 'other') continue
    const value = new Attribute(file.file_id, path, name).json_value
    const first = Array.isArray(value) ? value[0] : value
    if (typeof first === 'string' || typeof first === 'number') found.push([name, first])
  }
  return found
}

/** As they are stored: a text may be anything but one. */
function attributeBytes(path: string, name: string): Uint8Array {
  const { size, total_size, vlen } = Module.get_attribute_metadata(file.file_id, path, name)
  const bytes = size * total_size
  if (vlen || bytes > MAX_ATTRIBUTE_BYTES) return new Uint8Array()
  const pointer = Module._malloc(bytes)
  try {
    Module.get_attribute_data(file.file_id, path, name, BigInt(pointer))
    return Module.HEAPU8.slice(pointer, pointer + bytes)
  } finally {
    Module._free(pointer)
  }
}

function read(path: string, from: number, to: number): Numbers {
  const values = rowsOf(path, from, to)
  if (values instanceof BigInt64Array) return values
  if (values instanceof BigUint64Array) return new BigInt64Array(values.buffer)
  if (isNumbers(values)) return Float64Array.from(values)
  throw new Error('no numbers')
}

function isNumbers(values: unknown): values is Float32Array | Int32Array {
  return ArrayBuffer.isView(values) && !(values instanceof DataView)
}

function rowsOf(path: string, from: number, to: number): unknown {
  const dataset = file.get(path)
  if (!(dataset instanceof Dataset)) throw new Error('no dataset')
  const { shape, size } = dataset.metadata
  const rowBytes = (shape ?? []).slice(1).reduce((product, length) => product * length, size)
  if (rowBytes * (to - from) > MAX_READ_BYTES)
    throw new Error(`${to - from} rows of ${rowBytes} bytes at once`)
  return dataset.slice([[from, to]])
}

function bytesOf(path: string, maxBytes: number): Size {
  const dataset = file.get(path)
  if (!(dataset instanceof Dataset)) return { bytes: -1, content: undefined }
  const { size, total_size } = dataset.metadata
  const bytes = size * total_size
  const content = bytes <= maxBytes ? dataset.value : undefined
  return { bytes, content: content instanceof Uint8Array ? content : undefined }
}
