import { attempt, type Entry, type Library } from './library.ts'

/** A dataset whose first dimension counts rows. */
export type Rowed = {
  /** From the group that was asked for, and from the root. */
  name: string
  path: string
  rows: number
  rowBytes: number
  /** `float64[7]` */
  type: string
  /** One number in each row. */
  plain: boolean
}

export type Tree = { datasets: Rowed[]; groups: string[]; broken: number }

/** Links may lead back to where they stand: neither deep nor many are followed. */
const MAX_DEPTH = 8
const MAX_DATASETS = 20_000

/** All datasets below a group; `path` has no slash at its end. */
export async function treeUnder(library: Library, path: string): Promise<Tree> {
  const tree: Tree = { datasets: [], groups: [], broken: 0 }
  let level = ['']
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: string[] = []
    for (const prefix of level) {
      if (tree.datasets.length + tree.groups.length >= MAX_DATASETS) return tree
      tree.groups.push(prefix)
      const entries = await attempt(library.list(`${path}/${prefix}`))
      if (!entries) tree.broken++
      for (const entry of entries ?? []) {
        if (entry.kind === 'group') next.push(`${prefix}${entry.name}/`)
        else if (entry.kind === 'broken') tree.broken++
        else if (entry.kind === 'dataset' && entry.shape.length > 0) {
          tree.datasets.push(toRowed(entry, prefix + entry.name, path))
        }
      }
    }
    level = next
  }
  return tree
}

function toRowed({ shape, itemBytes, type }: Entry, name: string, path: string): Rowed {
  const [rows = 0, ...rest] = shape
  const items = rest.reduce((product, length) => product * length, 1)
  return {
    name,
    path: `${path}/${name}`,
    rows,
    rowBytes: items * itemBytes,
    type: rest.length > 0 ? `${type}[${rest.join(',')}]` : type,
    plain: items === 1 && /^(u?int|float)\d/.test(type),
  }
}

/** No filter makes rows smaller than a thousandth; what claims more was never written. */
const MOST_COMPRESSED = 2000
const MAX_ROWS = 100_000_000

export function isPossible({ rows, rowBytes }: Pick<Rowed, 'rows' | 'rowBytes'>, fileBytes: number): boolean {
  return rows <= MAX_ROWS && rows * Math.max(1, rowBytes) <= fileBytes * MOST_COMPRESSED
}
