// Damage as it happens to files: cut short, a bit turned, a block lost, a size that lies. Seeded, so that a variant
// that breaks a reader can be made again from its name.

/** Of each kind of damage. All of them take minutes: TEST_THOROUGH=1. */
export const VARIANTS = process.env.TEST_THOROUGH ? 20 : 7
const LIE = 2n ** 40n

export type Damaged = { name: string; bytes: Uint8Array }

export function* damaged(bytes: Uint8Array, seed: number): Iterable<Damaged> {
  const random = seeded(seed)
  const place = () => Math.floor(random() * bytes.length)
  for (let n = 0; n < VARIANTS; n++) yield cut(bytes, place())
  if (bytes.length === 0) return
  for (let n = 0; n < VARIANTS; n++) yield flip(bytes, place(), Math.floor(random() * 8))
  for (let n = 0; n < VARIANTS; n++) yield zeroBlock(bytes, place(), 1 + Math.floor(random() * 4096))
  for (let n = 0; n < VARIANTS; n++) yield lie(bytes, place())
}

// Copies are made by Uint8Array.from: the slice of a Buffer would be a view, and damage the original.

export function cut(bytes: Uint8Array, at: number): Damaged {
  return { name: `cut at ${at}`, bytes: Uint8Array.from(bytes.subarray(0, at)) }
}

export function flip(bytes: Uint8Array, at: number, bit: number): Damaged {
  const changed = Uint8Array.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ (1 << bit)
  return { name: `bit ${bit} of byte ${at} turned`, bytes: changed }
}

export function zeroBlock(bytes: Uint8Array, at: number, length: number): Damaged {
  const end = Math.min(at + length, bytes.length)
  return { name: `bytes ${at} to ${end} zeroed`, bytes: Uint8Array.from(bytes).fill(0, at, end) }
}

/** Eight bytes of the file say 2^40: somewhere that is a length, a count or a time. */
export function lie(bytes: Uint8Array, at: number): Damaged {
  const changed = Uint8Array.from(bytes)
  const from = Math.max(0, Math.min(at, bytes.length - 8))
  const told = new Uint8Array(new BigUint64Array([LIE]).buffer)
  changed.set(told.subarray(0, bytes.length - from), from)
  return { name: `2^40 at byte ${from}`, bytes: changed }
}

/** mulberry32: small, even enough, and the same on every machine. From 0 to below 1. */
export function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
