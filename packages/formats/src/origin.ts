/** As far from the origin as times are exact: 2^53 nanoseconds are 104 days. */
const NEAR_NS = 100n * 86_400_000_000_000n

/**
 * The first of the candidates that is near the middle of all times known. A recorder that waits for its clock stamps
 * its first messages with 0, and counted from there all others would be inexact.
 */
export function pickOrigin(candidatesNs: bigint[], knownNs = candidatesNs): bigint | undefined {
  const middle = knownNs.toSorted((a, b) => (a < b ? -1 : 1))[knownNs.length >> 1]
  if (middle === undefined) return undefined
  return candidatesNs.find((ns) => ns - middle < NEAR_NS && middle - ns < NEAR_NS)
}
