/** For every 16 bits that may come: the length of the code they begin with, and its symbol. */
export type Huffman = Uint16Array

export function huffmanTable(counts: Uint8Array, symbols: Uint8Array): Huffman {
  const table = new Uint16Array(65_536)
  let [code, next] = [0, 0]
  for (let length = 1; length <= 16; length++) {
    for (let n = 0; n < (counts[length - 1] ?? 0); n++, code++, next++) {
      const from = code << (16 - length)
      table.fill((length << 8) | (symbols[next] ?? 0), from, from + (1 << (16 - length)))
    }
    code <<= 1
  }
  return table
}

export type Bits = {
  symbol(table: Huffman): number
  /** A number of so many bits, negative where its first bit is 0. */
  signed(length: number): number
  /** The 63 coefficients behind the first of a block. */
  skipBlock(table: Huffman): void
  /** Goes on behind the next marker. */
  restart(): void
  /** Whether more was asked for than there is, or something that is no code. */
  ended(): boolean
}

/** Zeros come behind the end, so that whoever reads on comes to an end too. */
export function openBits(data: Uint8Array): Bits {
  let [at, held, count, missing, broken] = [0, 0, 0, 0, false]

  function fill(): void {
    while (count <= 16) {
      let byte = data[at] ?? 0
      if (at >= data.length) missing++
      else if (byte !== 0xff) at++
      else if (data[at + 1] === 0) at += 2
      else {
        // A marker: nothing more comes before it was passed.
        byte = 0
        missing++
      }
      held = ((held << 8) | byte) & 0xffffff
      count += 8
    }
  }

  function take(length: number): number {
    if (length === 0) return 0
    if (count < length) fill()
    count -= length
    return (held >>> count) & ((1 << length) - 1)
  }

  function symbol(table: Huffman): number {
    if (count < 16) fill()
    const entry = table[(held >>> (count - 16)) & 0xffff] ?? 0
    if (entry === 0) broken = true
    count -= entry >> 8
    return entry & 255
  }

  function signed(length: number): number {
    if (length > 15) broken = true
    const value = take(Math.min(length, 15))
    return length > 0 && value < 1 << (length - 1) ? value - (1 << length) + 1 : value
  }

  return {
    symbol,
    signed,
    skipBlock(table) {
      for (let n = 1; n < 64; n++) {
        const entry = symbol(table)
        const length = entry & 15
        if (length === 0 && entry >> 4 !== 15) return
        n += entry >> 4
        take(length)
      }
    },
    restart() {
      ;[held, count, missing] = [0, 0, 0]
      while (at + 1 < data.length && !(data[at] === 0xff && isRestart(data[at + 1]))) at++
      at += 2
    },
    // What was filled in ahead is not yet asked for.
    ended: () => broken || missing * 8 > count,
  }
}

function isRestart(marker: number | undefined): boolean {
  return marker !== undefined && marker >= 0xd0 && marker <= 0xd7
}
