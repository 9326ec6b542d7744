import type { Storage } from './storage.ts'

/** A recording read across its parts: the face that every format reader is written for. */
export type Recording = {
  size(): number
  read(offset: number, length: number): Promise<Uint8Array>
}

type Part = { object: string; bytes: number }

export function openRecording(storage: Storage, parts: Part[]): Recording {
  const starts: number[] = []
  let total = 0
  for (const part of parts) {
    starts.push(total)
    total += part.bytes
  }
  return {
    size: () => total,
    async read(offset, length) {
      if (offset < 0 || length < 0 || offset + length > total) {
        throw new RangeError(
          `bytes ${offset} to ${offset + length} are outside of a recording of ${total} bytes`,
        )
      }
      const pieces: Uint8Array[] = []
      for (let index = partAt(starts, offset), at = offset; at < offset + length; index++) {
        const [part, start] = [parts[index], starts[index]]
        if (!part || start === undefined) throw new RangeError(`no part holds byte ${at}`)
        const size = Math.min(part.bytes - (at - start), offset + length - at)
        pieces.push(await storage.read(part.object, at - start, size))
        at += size
      }
      return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
    },
  }
}

/** The last part that starts at or before the offset. */
function partAt(starts: number[], offset: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}
