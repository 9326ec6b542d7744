/** Far more than any frame of u-blox has. */
const MAX_PAYLOAD_BYTES = 8192

/** Length of the u-blox frame at `at` (`B5 62, class, id, uint16 length, payload, two sums`); 0 where there is none. */
export function ubxAt(bytes: Uint8Array, at: number): number | 'more' {
  if (at + 8 > bytes.length) return bytes[at + 1] === undefined || bytes[at + 1] === 0x62 ? 'more' : 0
  const payloadBytes = (bytes[at + 4] ?? 0) + (bytes[at + 5] ?? 0) * 256
  if (bytes[at + 1] !== 0x62 || payloadBytes > MAX_PAYLOAD_BYTES) return 0
  const sumsAt = at + 6 + payloadBytes
  if (sumsAt + 2 > bytes.length) return 'more'
  let [first, second] = [0, 0]
  for (let index = at + 2; index < sumsAt; index++) {
    first = (first + (bytes[index] ?? 0)) & 0xff
    second = (second + first) & 0xff
  }
  return bytes[sumsAt] === first && bytes[sumsAt + 1] === second ? payloadBytes + 8 : 0
}
