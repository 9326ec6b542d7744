import type { Source } from '../recording.ts'
import type { Box } from './boxes.ts'
import { openRows } from './rows.ts'

// How many bytes each frame has (`stsz`), how many lie together in a chunk (`stsc`), where chunks begin (`stco`).

export type Sizes = {
  count: number
  declared: number
  uniform: number
  at: (index: number) => number | Promise<number>
}

export async function openSizes(index: Source, tables: Map<string, Box>): Promise<Sizes | undefined> {
  const stsz = tables.get('stsz')
  const stz2 = tables.get('stz2')
  const box = stsz ?? stz2
  if (!box || box.end - box.start < 12) return undefined
  const head = await index.read(box.start, 12)
  const view = new DataView(head.buffer, head.byteOffset)
  const uniform = stsz ? view.getUint32(4) : 0
  if (uniform > 0) {
    const count = view.getUint32(8)
    return { count, declared: count, uniform, at: () => uniform }
  }
  const width = stsz ? 4 : view.getUint8(7) === 16 ? 2 : view.getUint8(7) === 8 ? 1 : undefined
  // The third width is four bits: no frame is as small as that.
  if (width === undefined) return undefined
  const rows = await openRows(index, box, { headBytes: 12, rowBytes: width })
  const { count, declared } = rows
  const load = async (at: number) => {
    await rows.load(at)
    return rows.uint(at, 0, width)
  }
  return { count, declared, uniform, at: (at) => (rows.has(at) ? rows.uint(at, 0, width) : load(at)) }
}

export type Chunks = { next: () => Promise<{ at: number; samples: number } | undefined> }

export async function openChunks(index: Source, tables: Map<string, Box>): Promise<Chunks | undefined> {
  const stsc = tables.get('stsc')
  const stco = tables.get('stco')
  const co64 = tables.get('co64')
  const offsetBox = stco ?? co64
  if (!stsc || !offsetBox) return undefined
  const groups = await openRows(index, stsc, { headBytes: 8, rowBytes: 12 })
  const offsets = await openRows(index, offsetBox, { headBytes: 8, rowBytes: stco ? 4 : 8 })
  let chunk = 0
  let group = 0
  let samples = 0
  return {
    async next() {
      if (chunk >= offsets.count) return undefined
      if (!offsets.has(chunk)) await offsets.load(chunk)
      while (group < groups.count) {
        if (!groups.has(group)) await groups.load(group)
        if (groups.uint(group, 0) > chunk + 1) break
        samples = groups.uint(group++, 4)
      }
      const at = stco ? offsets.uint(chunk, 0) : offsets.uint(chunk, 0) * 2 ** 32 + offsets.uint(chunk, 4)
      chunk++
      return { at, samples }
    },
  }
}
