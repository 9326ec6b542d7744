import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { File, type Group, Module, ready } from 'h5wasm/node'

// HDF5 files by the library itself, which is the only writer there is. Its clock is stopped: it would leave the time in
// the files, and no two would be the same.

export type TestDataset = {
  values: Float64Array | Float32Array | BigInt64Array | Int32Array | Uint8Array
  shape?: number[]
  chunks?: number[]
  gzip?: boolean
  attributes?: Record<string, string | number>
}
export type TestGroup = {
  attributes?: Record<string, string | number>
  [name: string]: TestDataset | TestGroup | Attributes
}
type Attributes = Record<string, string | number> | undefined

export async function hdf5File(
  tree: TestGroup,
  more?: (file: File, module: typeof Module) => void,
): Promise<Uint8Array> {
  await ready
  const folder = mkdtempSync(join(tmpdir(), 'tapedeck-hdf5-'))
  const now = Date.now
  Date.now = () => 1_700_000_000_000
  try {
    const path = join(folder, 'made.hdf5')
    const file = new File(path, 'w')
    fill(file, tree)
    more?.(file, Module)
    file.close()
    return new Uint8Array(readFileSync(path))
  } finally {
    Date.now = now
    rmSync(folder, { recursive: true })
  }
}

function fill(group: Group, tree: TestGroup) {
  for (const [name, value] of Object.entries(tree)) {
    if (name === 'attributes') annotate(group, tree.attributes)
    else if (isDataset(value)) write(group, name, value)
    else if (isGroup(value)) fill(group.create_group(name), value)
  }
}

function write(group: Group, name: string, { values, shape, chunks, gzip, attributes }: TestDataset) {
  const dataset = group.create_dataset({
    name,
    data: values,
    shape: shape ?? [values.length],
    ...(chunks && { chunks }),
    ...(gzip && { compression: 'gzip' as const }),
  })
  annotate(dataset, attributes)
}

function annotate(target: { create_attribute: Group['create_attribute'] }, attributes: Attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) target.create_attribute(name, value)
}

function isDataset(value: TestGroup[string]): value is TestDataset {
  return typeof value === 'object' && 'values' in value
}

function isGroup(value: TestGroup[string]): value is TestGroup {
  return typeof value === 'object'
}
