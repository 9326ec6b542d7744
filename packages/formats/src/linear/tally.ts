import type { StructuralCode, Visitor } from '../recording.ts'

/** Occurrences of one kind of damage: how many, how many bytes, and where the first was. */
export type Tally = { count: number; bytes: number; at: number; t: number | undefined }

export function openTally(): Tally {
  return { count: 0, bytes: 0, at: 0, t: undefined }
}

export function note(
  tally: Tally,
  at: number,
  { bytes = 0, t }: { bytes?: number; t?: number | undefined } = {},
) {
  if (tally.count === 0) {
    tally.at = at
    tally.t = t
  }
  tally.count++
  tally.bytes += bytes
}

/** One finding for the whole tally; none where nothing was noted. */
export function report(
  visitor: Visitor,
  code: StructuralCode,
  tally: Tally,
  detail: string,
  more: { value?: number } = {},
) {
  if (tally.count === 0) return
  visitor.finding({ code, detail, count: tally.count, ...(tally.t !== undefined && { t: tally.t }), ...more })
}
