import { parentPort, workerData } from 'node:worker_threads'
import { Dataset, File, Group, type Metadata, Module, ready } from 'h5wasm/node'
import type { Answer, Entry, Numbers, Request, Size } from './library.ts'
import { rawAttribute, rawRows, toNumbers } from './raw.ts'

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
    if (metadata.size * metadata.total_size > MAX_ATTRIBUTE_BYTES) continue
    const type = typeName(metadata)
    const bytes = rawAttribute(file.file_id, path, name, metadata)
    const number = toNumbers(bytes, type)?.[0]
    if (type === 'string') found.push([name, textOf(bytes)])
    else if (number !== undefined) found.push([name, Number(number)])
  }
  return found
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end))
}

/** As they are stored: a text may be anything but one. */
function attributeBytes(path: string, name: string): Uint8Array {
  const metadata = Module.get_attribute_metadata(file.file_id, path, name)
  if (metadata.size * metadata.total_size > MAX_ATTRIBUTE_BYTES) return new Uint8Array()
  return rawAttribute(file.file_id, path, name, metadata)
}

function read(path: string, from: number, to: number): Numbers {
  const numbers = toNumbers(rowsOf(path, from, to), typeName(metadataOf(path)))
  if (!numbers) throw new Error('no numbers')
  return numbers
}

function metadataOf(path: string): Metadata {
  const dataset = file.get(path)
  if (!(dataset instanceof Dataset)) throw new Error('no dataset')
  return dataset.metadata
}

function rowsOf(path: string, from: number, to: number): Uint8Array {
  const metadata = metadataOf(path)
  const [, ...rest] = metadata.shape ?? []
  const rowBytes = rest.reduce((product, length) => product * length, metadata.size)
  if (rowBytes * (to - from) > MAX_READ_BYTES)
    throw new Error(`${to - from} rows of ${rowBytes} bytes at once`)
  return rawRows(file.file_id, path, metadata, from, to)
}

function bytesOf(path: string, maxBytes: number): Size {
  try {
    const { size, total_size, shape } = metadataOf(path)
    const bytes = size * total_size
    const [rows] = shape ?? []
    const shown = rows !== undefined && rows > 0 && bytes <= maxBytes
    return { bytes, content: shown ? rowsOf(path, 0, rows) : undefined }
  } catch {
    return { bytes: -1, content: undefined }
  }
}
