import { type Huffman, huffmanTable, openBits } from './jpeg/bits.ts'

// How bright a JPEG is, without making a picture of it: the first coefficient of each block is the mean of its 64
// pixels. All others are passed over. Baseline and progressive; of the latter the first scan holds all that is needed.

const MAX_PIXELS = 64_000_000

type Component = { id: number; across: number; down: number; table: number }
type Frame = { width: number; height: number; components: Component[]; progressive: boolean }
type Tables = {
  quant: Map<number, number>
  dc: Map<number, Huffman>
  ac: Map<number, Huffman>
  restartEvery: number
}

/** From 0 to 255, by the first component, which is brightness; undefined for what is no JPEG that can be read. */
export function jpegBrightness(bytes: Uint8Array): number | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return undefined
  const tables: Tables = { quant: new Map(), dc: new Map(), ac: new Map(), restartEvery: 0 }
  let frame: Frame | undefined
  for (let at = 2; at + 4 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at++
      continue
    }
    const end = at + 2 + ((bytes[at + 2] ?? 0) << 8) + (bytes[at + 3] ?? 0)
    if (end < at + 4 || end > bytes.length) return undefined
    const body = bytes.subarray(at + 4, end)
    if (marker === 0xda) return frame && scan(frame, tables, body, bytes.subarray(end))
    if (marker === 0xdb) readQuantisation(tables, body)
    else if (marker === 0xc4) readHuffman(tables, body)
    else if (marker === 0xdd) tables.restartEvery = ((body[0] ?? 0) << 8) + (body[1] ?? 0)
    else if (marker >= 0xc0 && marker <= 0xc2) frame = readFrame(body, marker === 0xc2)
    else if (marker >= 0xc3 && marker <= 0xcf && marker !== 0xc8 && marker !== 0xcc) return undefined
    at = end
  }
  return undefined
}

function readQuantisation({ quant }: Tables, body: Uint8Array): void {
  for (let at = 0; at < body.length; ) {
    const wide = (body[at] ?? 0) >> 4 > 0
    const first = wide ? ((body[at + 1] ?? 0) << 8) + (body[at + 2] ?? 0) : (body[at + 1] ?? 0)
    quant.set((body[at] ?? 0) & 15, first)
    at += 1 + (wide ? 128 : 64)
  }
}

function readHuffman({ dc, ac }: Tables, body: Uint8Array): void {
  for (let at = 0; at + 17 <= body.length; ) {
    const counts = body.subarray(at + 1, at + 17)
    const length = counts.reduce((sum, count) => sum + count, 0)
    const table = huffmanTable(counts, body.subarray(at + 17, at + 17 + length))
    const head = body[at] ?? 0
    ;(head >> 4 === 0 ? dc : ac).set(head & 15, table)
    at += 17 + length
  }
}

function readFrame(body: Uint8Array, progressive: boolean): Frame | undefined {
  const [bits = 0, high = 0, low = 0, wide = 0, narrow = 0, count = 0] = body
  const [height, width] = [(high << 8) + low, (wide << 8) + narrow]
  if (bits !== 8 || width === 0 || height === 0 || width * height > MAX_PIXELS) return undefined
  if (count === 0 || count > 4 || body.length < 6 + 3 * count) return undefined
  const components = Array.from({ length: count }, (_, n) => {
    const [id = 0, sampling = 0, table = 0] = body.subarray(6 + 3 * n)
    return { id, across: sampling >> 4, down: sampling & 15, table }
  })
  if (components.some(({ across, down }) => across < 1 || across > 4 || down < 1 || down > 4))
    return undefined
  return { width, height, components, progressive }
}

type Scanned = { component: Component; dc: Huffman; ac: Huffman | undefined; last: number }

function scan(frame: Frame, tables: Tables, head: Uint8Array, data: Uint8Array): number | undefined {
  const [first] = frame.components
  const chosen = readScan(frame, tables, head)
  // Brightness must be in the scan, from its first coefficient on, and this must be the first time.
  const [start = 0, , approximation = 0] = head.subarray(1 + 2 * (head[0] ?? 0))
  if (!first || !chosen || chosen[0]?.component !== first || start !== 0 || approximation >> 4 !== 0)
    return undefined
  const [maxAcross, maxDown] = [largest(frame, 'across'), largest(frame, 'down')]
  const alone = chosen.length === 1
  const unit = alone
    ? [(8 * maxAcross) / first.across, (8 * maxDown) / first.down]
    : [8 * maxAcross, 8 * maxDown]
  const units = Math.ceil(frame.width / (unit[0] ?? 8)) * Math.ceil(frame.height / (unit[1] ?? 8))
  const bits = openBits(data)
  let [sum, blocks] = [0, 0]
  for (let n = 0; n < units; n++) {
    if (tables.restartEvery > 0 && n > 0 && n % tables.restartEvery === 0) {
      bits.restart()
      for (const one of chosen) one.last = 0
    }
    for (const one of chosen) {
      const count = alone ? 1 : one.component.across * one.component.down
      for (let block = 0; block < count; block++) {
        one.last += bits.signed(bits.symbol(one.dc))
        if (one.ac && !frame.progressive) bits.skipBlock(one.ac)
        if (one.component !== first) continue
        sum += one.last
        blocks++
      }
    }
    if (bits.ended()) return undefined
  }
  const quant = tables.quant.get(first.table) ?? 1
  const mean = ((sum / blocks) * 2 ** (approximation & 15) * quant) / 8 + 128
  return Math.min(255, Math.max(0, mean))
}

function readScan(
  { components, progressive }: Frame,
  { dc, ac }: Tables,
  head: Uint8Array,
): Scanned[] | undefined {
  const count = head[0] ?? 0
  const chosen: Scanned[] = []
  for (let n = 0; n < count; n++) {
    const [id = 0, numbers = 0] = head.subarray(1 + 2 * n)
    const component = components.find((one) => one.id === id)
    const tables = { dc: dc.get(numbers >> 4), ac: ac.get(numbers & 15) }
    if (!component || !tables.dc || (!tables.ac && !progressive)) return undefined
    chosen.push({ component, dc: tables.dc, ac: tables.ac, last: 0 })
  }
  return chosen.length > 0 ? chosen : undefined
}

function largest({ components }: Frame, side: 'across' | 'down'): number {
  return Math.max(...components.map((component) => component[side]))
}
