// JPEGs by the byte, gray, each block of one brightness: as much as there is to say about how bright a picture is.

/** One code for each length from 2 to 9, for the numbers of bits 0 to 7 … and one of 1 bit that is never used. */
const dcCounts = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
const dcSymbols = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
/** Only the end of a block. */
const acCounts = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
const acSymbols = [0]
const QUANT = 4

export type Picture = { width: number; height: number; progressive?: boolean; restartEvery?: number }

/** `brightness` of the block in a column and a row, from 0 to 255. */
export function grayJpeg(
  { width, height, progressive = false, restartEvery = 0 }: Picture,
  brightness: (column: number, row: number) => number,
): Uint8Array {
  const frame = [8, ...u16(height), ...u16(width), 1, 1, 0x11, 0]
  return Uint8Array.from([
    ...[0xff, 0xd8],
    ...segment(0xdb, [0, QUANT, ...new Array<number>(63).fill(1)]),
    ...segment(progressive ? 0xc2 : 0xc0, frame),
    ...segment(0xc4, [0x00, ...dcCounts, ...dcSymbols, 0x10, ...acCounts, ...acSymbols]),
    ...(restartEvery > 0 ? segment(0xdd, u16(restartEvery)) : []),
    ...segment(0xda, [1, 1, 0x00, 0, progressive ? 0 : 63, 0]),
    ...entropy(width, height, progressive, restartEvery, brightness),
    ...[0xff, 0xd9],
  ])
}

function entropy(
  width: number,
  height: number,
  progressive: boolean,
  restartEvery: number,
  brightness: (column: number, row: number) => number,
): number[] {
  const bytes: number[] = []
  let bits = ''
  let [last, block] = [0, 0]
  const flush = () => {
    while (bits.length % 8 !== 0) bits += '1'
    for (let at = 0; at < bits.length; at += 8) {
      const byte = Number.parseInt(bits.slice(at, at + 8), 2)
      bytes.push(byte, ...(byte === 0xff ? [0] : []))
    }
    bits = ''
  }
  for (let row = 0; row < Math.ceil(height / 8); row++) {
    for (let column = 0; column < Math.ceil(width / 8); column++, block++) {
      if (restartEvery > 0 && block > 0 && block % restartEvery === 0) {
        flush()
        bytes.push(0xff, 0xd0 + ((block / restartEvery - 1) % 8))
        last = 0
      }
      const value = Math.round(((brightness(column, row) - 128) * 8) / QUANT)
      bits += coded(value - last) + (progressive ? '' : '00')
      last = value
    }
  }
  flush()
  return bytes
}

/** Symbols have the codes 00, 100, 1010 …: each length has one, the first of that length. */
function coded(difference: number): string {
  const length = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1
  const code = codeOf(length)
  const value = difference < 0 ? difference + (1 << length) - 1 : difference
  return code + (length > 0 ? value.toString(2).padStart(length, '0') : '')
}

function codeOf(symbol: number): string {
  let [code, next] = [0, 0]
  for (let length = 1; length <= 16; length++) {
    for (let n = 0; n < (dcCounts[length - 1] ?? 0); n++, code++, next++)
      if (dcSymbols[next] === symbol) return code.toString(2).padStart(length, '0')
    code <<= 1
  }
  throw new Error(`no code for ${symbol}`)
}

function segment(marker: number, body: number[]): number[] {
  return [0xff, marker, ...u16(body.length + 2), ...body]
}

function u16(value: number): number[] {
  return [value >> 8, value & 255]
}
