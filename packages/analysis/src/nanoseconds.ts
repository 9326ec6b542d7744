const MAX_INT64 = 2n ** 63n - 1n

/** The time that lies so many nanoseconds from the origin. */
export function at(originNs: bigint, t: number): bigint {
  return originNs + BigInt(Math.round(t))
}

/** The same, where 64 bits hold it: a file may say anything. */
export function storable(originNs: bigint, t: number): bigint | undefined {
  if (!Number.isFinite(t)) return undefined
  const ns = at(originNs, t)
  return ns <= MAX_INT64 && ns >= -MAX_INT64 ? ns : undefined
}
